"""Values of a quantised network, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.constant import Constant
from compiler.graph.names import fresh
from compiler.graph.nodes import Atom, Call, Let, Var
from compiler.graph.operators import OPERATORS
from compiler.graph.operators.elementwise import Cast
from compiler.graph.operators.quantised import Along, Quantise, Requantise
from compiler.graph.types import TensorType
from compiler.ir.dtypes import INT8, INT16, INT32, DType
from compiler.quantise.forms import Scale, Small, Sums
from compiler.requantisation import RequantSpec, ResidualSpec

__all__ = ["Builder", "constant"]

LOWEST, HIGHEST = -128, 127


def constant(values: ArrayLike, dtype: DTypeLike) -> Constant:
    """An array as a part of the graph."""
    return Constant(np.asarray(values, dtype))


class Builder:
    """Emits operators.

    Attributes
    ----------
    lets
        What was emitted so far.
    scales
        Of int8 tensors, by name; and the value of the network in real numbers that each stands for.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._origins: dict[str, str] = {}
        self.lets: list[Let] = []
        self.scales: dict[str, tuple[str, Scale]] = {}

    def call(
        self,
        of: str,
        suffix: str,
        operator: str,
        args: Sequence[Atom],
        attributes: Attributes = NOTHING,
    ) -> Var:
        """An operator's result, called as the value that it computes, or computes a part of, with a
        suffix. A second one of that name, say in another scale, is a value of its own: no two
        layers are called the same."""
        name = fresh(f"{of}{suffix}", self._taken)
        first = name == f"{of}{suffix}"
        origin = self._origins.get(of, of) if first else None
        self._origins[name] = origin or name
        value = Call(OPERATORS[operator], tuple(args), attributes)
        self.lets.append(Let(name, value, origin=origin))
        return Var(name)

    def small(self, of: str, var: Var, scale: Scale) -> Small:
        """Remember that an int8 tensor stands for the value `of`."""
        self.scales.setdefault(var.name, (of, scale))
        return Small(var, scale)

    def wide(self, of: str, given: Atom) -> Var:
        """As int32, for the value `of`."""
        return self._cast(of, "_wide", given, INT32)

    def quantised(self, of: str, scale: Scale) -> Small:
        """A float tensor as int8."""
        numbers = constant(scale.step, np.float32), constant(scale.zero, np.int8)
        return self.small(
            of, self.call(of, "_int8", "quantise", [Var(of), *numbers], Quantise()), scale
        )

    def dequantised(self, name: str, given: Small) -> None:
        """An int8 tensor as the float value called `name`."""
        numbers = constant(given.scale.step, np.float32), constant(given.scale.zero, np.int8)
        self.named(name, "dequantise", [given.var, *numbers], Along())

    def encoded(self, name: str, given: Small, type_: TensorType) -> None:
        """An int8 tensor as the integer value of the network called `name`."""
        if type_.dtype == INT8:
            self.named(name, "identity", [given.var], NOTHING)
        else:
            moved = self.call(
                name,
                "_moved",
                "add",
                [self._cast(name, "_wide", given.var, INT16), constant(128, np.int16)],
            )
            self.named(name, "cast", [moved], Cast(type_.dtype))

    def decoded(self, given: Var, dtype: DType) -> Var:
        """An int8 or uint8 tensor as int8: of the other type 128 is taken off."""
        if dtype == INT8:
            return given
        wide = self._cast(given.name, "_wide", given, INT16)
        moved = self.call(given.name, "_moved", "subtract", [wide, constant(128, np.int16)])
        return self._cast(given.name, "_int8", moved, INT8)

    def _cast(self, of: str, suffix: str, given: Atom, to: DType) -> Var:
        return self.call(of, suffix, "cast", [given], Cast(to))

    def real_sums(self, of: str, suffix: str, sums: Sums) -> Var:
        """Sums as floats, without what is skipped to them, for the value `of`."""
        channels = max(len(sums.scales), len(sums.bias))
        shape = () if channels == 1 else (channels,)
        steps, zeros = (
            np.broadcast_to(each, (channels,)).reshape(shape) for each in (sums.scales, -sums.bias)
        )
        numbers = constant(steps, np.float32), constant(zeros, np.int32)
        return self.call(of, suffix, "dequantise", [sums.acc, *numbers], Along())

    def named(self, name: str, operator: str, args: Sequence[Atom], attributes: Attributes) -> None:
        """An operator's result under a name that the network has for it."""
        self.lets.append(Let(name, Call(OPERATORS[operator], tuple(args), attributes)))

    def release(self, name: str) -> None:
        """The name may be given to something that is emitted."""
        self._taken.discard(name)

    def outputs(self, of: str, sums: Sums, scale: Scale) -> Small:
        """Sums as int8.

        Raises
        ------
        QuantisationError
            No multiplier and shift do it in 32 bits.
        """
        low, high = LOWEST, HIGHEST
        if sums.low is not None:
            low = min(max(low, scale.nearest(sums.low)), HIGHEST)
        if sums.high is not None:
            high = max(min(high, scale.nearest(sums.high)), LOWEST)
        low = min(low, high)
        ratios, bias = _single(sums.scales / scale.step), _single(sums.bias)
        limits: dict[str, Any] = {"low": low, "high": high, "bound": sums.bound}
        if sums.skip is None:
            spec: RequantSpec | ResidualSpec = RequantSpec.from_scales(
                ratios, bias, zero_point=scale.zero, **limits
            )
            multiplier, addend, added, shift = _least(spec.multiplier, spec.addend, 0, spec.shift)
            var = self.call(
                of,
                "_int8",
                "requantise",
                [sums.acc, multiplier, addend],
                Requantise(shift, low, high),
            )
            return self.small(of, var, scale)
        spec = ResidualSpec.from_scales(
            ratios,
            sums.skip.scale.step / scale.step,
            bias,
            zero_point=scale.zero,
            skip_zero_point=sums.skip.scale.zero,
            **limits,
        )
        multiplier, addend, added, shift = _least(
            spec.multiplier, spec.addend, spec.skip_multiplier, spec.shift
        )
        var = self.call(
            of,
            "_int8",
            "requantise_add",
            [sums.acc, multiplier, addend, sums.skip.var, constant([added], np.int32)],
            Requantise(shift, low, high),
        )
        return self.small(of, var, scale)


def _single(values: Any) -> Any:
    """A number where there is one, else an array."""
    return values[0].item() if len(values) == 1 else values


def _least(
    multiplier: int | tuple[int, ...], addend: int | tuple[int, ...], added: int, shift: Any
) -> tuple[Constant, Constant, int, int]:
    """The same function with all common factors of two cancelled, as operands and a shift."""
    many = np.atleast_1d(np.array(multiplier, np.int64))
    joint = int(np.bitwise_or.reduce(many)) | added | (1 << int(shift))
    twos = (joint & -joint).bit_length() - 1
    addends = np.atleast_1d(np.array(addend, np.int64)) >> twos
    return (
        constant(_shared(many >> twos), np.int32),
        constant(_shared(addends), np.int64),
        added >> twos,
        int(shift) - twos,
    )


def _shared(values: Any) -> Any:
    """One number where all channels have the same."""
    return values[:1] if (values == values[0]).all() else values

"""The builder that emits the operators of a quantised network in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise, Requantise
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BOOL, INT8, INT16, INT32, UINT2, UINT4, DType
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.forms import Int8Value, Movement, PendingAccumulator, Scale
from tandem.compiler.requantisation import RequantSpec, ScaledResidual, ShortFactors
from tandem.hw.parameter_word import MULTIPLIER_BITS

_CODES = {1: BOOL, 2: UINT2, 4: UINT4}
"""The types of codes by their bits."""


class Builder:
    """Emits operators of a quantised network as `lets`, in order.

    Parameters
    ----------
    taken
        Names that new values must not have.
    targets
        Targets that all have to compute the requantisations exactly.

    Attributes
    ----------
    lets
        The values emitted so far.
    scales
        By name of an int8 tensor: the real value that the tensor stands for, and its scale.
    requantised
        By name of an int8 tensor that was made from an accumulator: the accumulator.
    weights
        What the weights of layers are stored as, where formats were asked for.
    """

    def __init__(self, taken: Iterable[str], targets: Sequence[Target[Any]] = ()) -> None:
        self._taken = set(taken)
        self._targets = targets
        self._origins: dict[str, str] = {}
        self.lets: list[Let] = []
        self.scales: dict[str, tuple[str, Scale]] = {}
        self.requantised: dict[str, PendingAccumulator] = {}
        self.weights: list[LayerWeights] = []

    def inner(self) -> Builder:
        """A builder of a body within this one, which knows the names and records the scales."""
        made = Builder((), self._targets)
        made._taken, made._origins, made.scales = self._taken, self._origins, self.scales
        made.weights = self.weights
        return made

    def call(
        self,
        of: str,
        suffix: str,
        operator: str,
        args: Sequence[Atom],
        attributes: Attributes = NO_ATTRIBUTES,
    ) -> Var:
        """An operator's result, named as the value that it computes, or computes a part of, with a
        suffix. A second one of that name, say in another scale, is a value of its own: no two
        layers have one name."""
        name = unique_name(f"{of}{suffix}", self._taken)
        first = name == f"{of}{suffix}"
        origin = self._origins.get(of, of) if first else None
        self._origins[name] = origin or name
        value = Call(OPERATORS[operator], tuple(args), attributes)
        self.lets.append(Let(name, value, origin=origin))
        return Var(name)

    def apart(self, make: Callable[[], object]) -> tuple[Let, ...]:
        """What `make` emits, which does not become part of `lets`."""
        count = len(self.lets)
        make()
        made = tuple(self.lets[count:])
        del self.lets[count:]
        return made

    def emit(self, name: str, operator: str, args: Sequence[Atom], attributes: Attributes) -> None:
        """An operator's result under a name of the network."""
        self.lets.append(Let(name, Call(OPERATORS[operator], tuple(args), attributes)))

    def explain(self, name: str, text: str) -> None:
        """Records why targets cannot do what emits the value `name`."""
        for number, let in enumerate(self.lets):
            if let.name == name and isinstance(let.value, Call):
                reason = Reason(let.value.callee.name, text)
                self.lets[number] = replace(let, reasons=(*let.reasons, reason))

    def release(self, name: str) -> None:
        """Frees a name, under which a value is then emitted."""
        self._taken.discard(name)

    def int8_value(self, of: str, var: Var, scale: Scale) -> Int8Value:
        """An int8 tensor that stands for the value `of`; its scale is recorded."""
        self.scales.setdefault(var.name, (of, scale))
        return Int8Value(var, scale)

    def widen(self, of: str, data: Atom) -> Var:
        """A tensor as int32, for the value `of`."""
        return self._cast(of, "_wide", data, INT32)

    def widened(self, of: str, coded: CodedWeights) -> Var:
        """Compressed weights as int8, for the value `of`."""
        codes: list[Atom] = [Constant(coded.codes.astype(_CODES[coded.form.bits].numpy))]
        if coded.form.scaled:
            codes.append(Constant(coded.scales.astype(UINT4.numpy)))
        group = coded.group if coded.form.scaled else 0
        return self.call(of, "_weight", "widen", codes, Widen(coded.form.table, 1, group))

    def accumulator_of(self, value: Int8Value) -> PendingAccumulator:
        """An int8 tensor as an accumulator of one term."""
        wide = self.widen(value.var.name, value.var)
        zero = np.array([-value.scale.zero], np.int64)
        return PendingAccumulator(wide, np.array([value.scale.step]), zero, 128)

    def quantise(self, of: str, scale: Scale) -> Int8Value:
        """A float tensor as int8."""
        operands = Var(of), _constant(scale.step, np.float32), _constant(scale.zero, np.int8)
        return self.int8_value(of, self.call(of, "_int8", "quantise", operands, Quantise()), scale)

    def dequantise(self, name: str, value: Int8Value) -> None:
        """An int8 tensor as the float value `name`."""
        scale = _constant(value.scale.step, np.float32), _constant(value.scale.zero, np.int8)
        self.emit(name, "dequantise", [value.var, *scale], Dequantise())

    def dequantise_accumulator(self, of: str, suffix: str, pending: PendingAccumulator) -> Var:
        """An accumulator as floats, without its residual, for the value `of`."""
        channels = max(len(pending.scales), len(pending.bias))
        shape = () if channels == 1 else (channels,)
        steps, zeros = (
            np.broadcast_to(numbers, (channels,)).reshape(shape)
            for numbers in (pending.scales, -pending.bias)
        )
        operands = pending.acc, _constant(steps, np.float32), _constant(zeros, np.int32)
        return self.call(of, suffix, "dequantise", operands, Dequantise())

    def emit_integer(self, name: str, value: Int8Value, type_: TensorType) -> None:
        """An int8 tensor as the integer value `name` of the network."""
        if type_.dtype == INT8:
            self.emit(name, "identity", [value.var], NO_ATTRIBUTES)
        else:
            wide = self._cast(name, "_wide", value.var, INT16)
            moved = self.call(name, "_moved", "add", [wide, _constant(128, np.int16)])
            self.emit(name, "cast", [moved], Cast(type_.dtype))

    def as_int8(self, data: Var, dtype: DType) -> Var:
        """An int8 or uint8 tensor as int8: 128 is subtracted from uint8."""
        if dtype == INT8:
            return data
        wide = self._cast(data.name, "_wide", data, INT16)
        moved = self.call(data.name, "_moved", "subtract", [wide, _constant(128, np.int16)])
        return self._cast(data.name, "_int8", moved, INT8)

    def requantise(self, of: str, pending: PendingAccumulator, scale: Scale) -> Int8Value:
        """An accumulator as int8.

        Raises
        ------
        QuantisationError
            No multiplier and shift are exact on the targets.
        """
        low, high = INT8.low, INT8.high
        if pending.low is not None:
            low = min(max(low, scale.nearest(pending.low)), INT8.high)
        if pending.high is not None:
            high = max(min(high, scale.nearest(pending.high)), INT8.low)
        low = min(low, high)
        residual, residuals = pending.residual, []
        if residual is not None:
            ratio = residual.scale.step / scale.step
            residuals.append(ScaledResidual(ratio, residual.scale.zero))
        scales = pending.scales / scale.step
        spec = RequantSpec.from_scales(
            _unpacked(scales),
            _unpacked(pending.bias),
            low,
            high,
            zero_point=scale.zero,
            bound=pending.bound,
            residuals=residuals,
            is_exact=lambda spec: all(target.is_exact(spec) for target in self._targets),
            short=self._short_factors(one=scales.size == 1),
        ).reduced()
        assert isinstance(spec.shift, int), "scales have one shift"
        operator = "requantise"
        operands: list[Atom] = [
            pending.acc,
            _packed(spec.multiplier, np.int32),
            _packed(spec.addend, np.int64),
        ]
        if residual is not None:
            operator = "requantise_add"
            operands += [residual.var, _constant([spec.residuals[0].multiplier], np.int32)]
        var = self.call(of, "_int8", operator, operands, Requantise(spec.shift, low, high))
        if not pending.moves:
            self.requantised[var.name] = pending
        return self.int8_value(of, self.moved(of, var, pending.moves), scale)

    def _short_factors(self, *, one: bool) -> ShortFactors:
        """What the targets ask of integers; `one` number for all channels is an immediate of the
        ALU, which has more bits than a channel's multiplier."""
        asked = [target.short_factors for target in self._targets]
        return reduce(ShortFactors.joined, asked, ShortFactors(None if one else MULTIPLIER_BITS))

    def moved(self, of: str, var: Var, moves: Iterable[Movement]) -> Var:
        """An int8 tensor after movements of its elements, for the value `of`."""
        for move in moves:
            var = self.call(of, "_int8", move.operator, [var], move.attributes)
        return var

    def _cast(self, of: str, suffix: str, data: Atom, to: DType) -> Var:
        return self.call(of, suffix, "cast", [data], Cast(to))


def _constant(values: ArrayLike, dtype: DTypeLike) -> Constant:
    return Constant(np.asarray(values, dtype))


def _unpacked(values: Any) -> Any:
    """The Python number of an array of one element; other arrays as they are."""
    return values[0].item() if len(values) == 1 else values


def _packed(numbers: int | tuple[int, ...], dtype: DTypeLike) -> Constant:
    """A constant of shape [C], or [1] if all channels have the same number."""
    values = np.atleast_1d(np.array(numbers, dtype))
    return Constant(values[:1] if (values == values[0]).all() else values)

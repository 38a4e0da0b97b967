"""The pass that folds consecutive per-channel multiplies and adds into one `batch_norm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.reductions import Epsilon
from tandem.compiler.graph.opspec import AnyOp, OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_bodies, map_functions, use_counts
from tandem.compiler.ir.dtypes import FLOAT32

_LAYERS = ("conv2d", "dense")


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """`data * factor + addend`, with a factor and an addend for each index of axis 1."""

    data: Var
    factor: NDArray[np.float64]
    addend: NDArray[np.float64]

    def after(self, first: Affine) -> Affine:
        """The composition that applies `first`, then this function."""
        return Affine(
            first.data, first.factor * self.factor, first.addend * self.factor + self.addend
        )


@dataclass(frozen=True, slots=True)
class FoldAffine:
    """Replaces a chain of per-channel affine operators with constant operands by one `batch_norm`.

    ::

        n = batch_norm(x, scale, bias, mean, variance)
        m = multiply(n, float32[C, 1, 1])              ->   y = batch_norm(x, factor, addend, 0, 1)
        y = add(m, float32[C, 1, 1])

    Old model zoos export normalisation as such chains. Directly after a convolution or dense layer
    even a single operator is replaced, because `FoldNormalisation` folds a `batch_norm` into the
    weights. A value that has other uses is not folded into its successor.
    """

    name: str = "fold-affine"

    def apply(self, function: Function) -> Function:
        """The function with folded chains; dead values are left to `EliminateDead`."""
        verify(function)
        return map_functions(
            function,
            lambda one: replace(
                one, body=_folded(one.body, infer(one), use_counts(one.body), {}, set())
            ),
        )


def _folded(
    body: Body,
    types: Mapping[str, Type],
    counts: Mapping[str, int],
    around: Mapping[str, Affine],
    layers_around: Set[str],
) -> Body:
    """The body, and those within it, with folded chains.

    Parameters
    ----------
    around, layers_around
        The affine values and the layers around the body.
    """
    affines, layers = dict(around), set(layers_around)
    lets: list[Let] = []
    for let in body.lets:
        found = affine_of(let.value, types)
        if found is not None:
            first = affines.get(found.data.name) if counts[found.data.name] == 1 else None
            whole = found if first is None else found.after(first)
            affines[let.name] = whole
            if first is not None or (whole.data.name in layers and counts[whole.data.name] == 1):
                let = replace(let, value=_norm(whole))
        value = map_bodies(let.value, lambda inner: _folded(inner, types, counts, affines, layers))
        if isinstance(value, Call) and value.callee.name in _LAYERS:
            layers.add(let.name)
        lets.append(replace(let, value=value))
    return Body(tuple(lets), body.result)


def affine_of(value: Any, types: Mapping[str, Type]) -> Affine | None:
    """The affine function of a float32 `batch_norm`, `add` or `multiply` with constants per
    channel; None for any other value."""
    if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
        return None
    operator, args = value.callee.name, value.args
    if operator == "batch_norm":
        return _of_norm(value, value.callee, types)
    if operator not in ("add", "multiply"):
        return None
    data, other = args if isinstance(args[0], Var) else reversed(args)
    if not isinstance(data, Var) or not isinstance(other, Constant):
        return None
    shape = _channels(data, types)
    numbers = None if shape is None else by_channel(other, shape)
    if shape is None or numbers is None:
        return None
    numbers = np.broadcast_to(numbers, shape[1:2])
    if operator == "add":
        return _finite(Affine(data, np.ones(shape[1]), numbers))
    return _finite(Affine(data, numbers, np.zeros(shape[1])))


def by_channel(constant: Constant, shape: Sequence[Any]) -> NDArray[np.float64] | None:
    """A constant flattened to [C] or [1] if it broadcasts to `shape` and varies along axis 1 only;
    else None."""
    full = (1,) * (len(shape) - constant.array.ndim) + constant.array.shape
    if len(full) != len(shape) or full[1] not in (1, shape[1]):
        return None
    if any(extent != 1 for axis, extent in enumerate(full) if axis != 1):
        return None
    return constant.array.reshape(-1).astype(np.float64)


def _of_norm(value: Call, norm: AnyOp, types: Mapping[str, Type]) -> Affine | None:
    data, *statistics = value.args
    assert norm.channel_affine is not None, "batch_norm has channel_affine"
    known = [each.array for each in statistics if isinstance(each, Constant)]
    if not isinstance(data, Var) or len(known) != 4 or _channels(data, types) is None:
        return None
    with np.errstate(all="ignore"):
        found = norm.channel_affine(known, value.attributes)
        return _finite(Affine(data, found.factor, found.addend - found.centre * found.factor))


def _channels(data: Var, types: Mapping[str, Type]) -> tuple[Any, ...] | None:
    """The shape of a float32 tensor with a known number of channels; None for other tensors."""
    type_ = types[data.name]
    if not isinstance(type_, TensorType) or type_.dtype != FLOAT32 or len(type_.shape) < 2:
        return None
    return type_.shape if isinstance(type_.shape[1], int) else None


def _finite(found: Affine) -> Affine | None:
    good = np.isfinite(found.factor).all() and np.isfinite(found.addend).all()
    return found if good else None


def _norm(whole: Affine) -> Call:
    ones = np.ones(len(whole.factor), np.float32)
    numbers = (whole.factor, whole.addend, ones * 0, ones)
    constants = tuple(Constant(each.astype(np.float32)) for each in numbers)
    return Call(OPERATORS["batch_norm"], (whole.data, *constants), Epsilon(0.0))

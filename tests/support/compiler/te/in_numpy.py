"""Tensor expressions of integers computed by NumPy, a whole stage at a time: an oracle that takes
nothing of the compiler but what expressions are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Select, Var
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.te import Tensor
from tandem.compiler.te.build import stages
from tandem.compiler.te.tensor import Combiner, Compute

Array = NDArray[Any]

_BINARY: Final[Mapping[BinaryOp, Callable[[Array, Array], Array]]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.FLOORDIV: np.floor_divide,
    BinaryOp.MOD: np.mod,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.SHL: np.left_shift,
    BinaryOp.SHR: np.right_shift,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}


def in_numpy(output: Tensor, values: Mapping[str, Array]) -> Array:
    """The elements of an expression of integers, whose sums wrap as those of its type.

    Parameters
    ----------
    values
        Of the inputs, by name.
    """
    known = dict(values)
    for tensor in stages([output]):
        if tensor.source is not None:
            known[tensor.name] = _stage(tensor, tensor.source, known)
    return known[output.name]


def _stage(tensor: Tensor, source: Compute, known: Mapping[str, Array]) -> Array:
    extents = [*tensor.shape, *(axis.extent for axis in source.reduce_axes)]
    axes = [*source.axes, *source.reduce_axes]
    grid = np.meshgrid(*map(np.arange, extents), indexing="ij", sparse=True) if extents else []
    places = {axis.name: place for axis, place in zip(axes, grid, strict=True)}
    found = np.broadcast_to(_value(source.value, places, known), extents)
    if source.combiner is not None:
        assert source.combiner is Combiner.SUM, "the oracle knows sums"
        assert source.start is not None, "a sum starts somewhere"
        behind = tuple(range(len(tensor.shape), len(extents)))
        found = found.sum(axis=behind, dtype=np.int64) + source.start.value
    return found.astype(tensor.dtype.numpy)


def _value(value: Expr, places: Mapping[str, Array], known: Mapping[str, Array]) -> Array:
    match value:
        case Const(value=number, dtype=dtype):
            return np.asarray(number, dtype.numpy)
        case Var(name=name):
            return places[name]
        case Cast(operand=operand, dtype=dtype):
            return _value(operand, places, known).astype(dtype.numpy)
        case Binary(op=op, left=left, right=right):
            return _BINARY[op](_value(left, places, known), _value(right, places, known))
        case Select(condition=condition, then=then, otherwise=otherwise):
            parts = (_value(each, places, known) for each in (condition, then, otherwise))
            return np.where(*parts)
        case Load(buffer=buffer, indices=indices):
            at = (_value(each, places, known) for each in indices)
            # What a select does not take may lie outside.
            limits = zip(at, buffer.shape, strict=True)
            return known[buffer.name][tuple(np.clip(one, 0, most - 1) for one, most in limits)]
    raise AssertionError(f"the oracle does not know {value}")

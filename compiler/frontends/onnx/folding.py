"""Constant folding at import, on numbers and symbolic extents.

Exporters compute shapes by operators: `Reshape(x, Concat(Gather(Shape(x), 0), -1))`. Shapes are
part of a graph's types, so that such operators are evaluated before there is a graph. This module
has only operators whose results on numbers are bit-identical to those of the graph's operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add, eq, mul, sub
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from tandem.compiler.errors import GraphError
from tandem.compiler.frontends.onnx.values import Array
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import Dim, Extent, difference, product, quotient, sum_of
from tandem.compiler.graph.operators.elementwise import Cast, Modulo
from tandem.compiler.graph.operators.parts import Gather, Slice
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT4, FLOAT16, INT2, INT4, INT64, UINT2, UINT4
from tandem.compiler.operators import slicing

_Fold: TypeAlias = Callable[[Any, Sequence[Array], tuple[int, ...]], Array]
"""Computes a result from attributes, operands and the shape of the result."""


def holds_symbols(array: Array) -> bool:
    """Whether an element is a symbolic extent."""
    return array.dtype == object and any(isinstance(each, Dim) for each in array.flat)


def fold(
    operator: str, attributes: Attributes, operands: Sequence[Array], result: TensorType
) -> Array | None:
    """The result of a graph operator, of type `result`; None if the operator cannot be folded.

    An array with symbolic extents has dtype object and elements `Extent`.
    """
    shape = result.static_shape("a constant")
    found: Array | None
    if operator in _MOVES:
        found = _MOVES[operator](attributes, operands, shape)
    elif any(each.dtype == object for each in operands):
        found = symbolic(operator, attributes, operands)
    else:
        found = _numbers(operator, attributes, operands)
    if found is None:
        return None
    found = np.broadcast_to(found, shape)
    if holds_symbols(found):
        return found if result.dtype == INT64 else None
    return np.asarray(found, result.dtype.numpy)


# Data movement --------------------------------------------------------------------------------


def _slice(given: Slice, operands: Sequence[Array], _: tuple[int, ...]) -> Array:
    (data,) = operands
    axes = range(len(given.starts)) if given.axes is None else given.axes
    steps = (1,) * len(given.starts) if given.steps is None else given.steps
    for axis, start, end, step in zip(axes, given.starts, given.ends, steps, strict=True):
        taken = slicing.elements(data.shape[axis], start, end, step)
        data = data.take(np.array(taken, np.int64), axis)
    return data


def _gather(given: Gather, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    data, indices = operands
    extent = data.shape[given.axis]
    if indices.size and (indices.min() < -extent or indices.max() >= extent):
        raise GraphError(
            f"indices {indices.min()}..{indices.max()} of an axis of {extent}: at most "
            f"{-extent}..{extent - 1} are there"
        )
    # A scalar index into an object array would give the object, not an array.
    flat = np.atleast_1d(indices.astype(np.int64))
    return np.take(data, flat, given.axis).reshape(shape)


def _reshaped(_: Attributes, operands: Sequence[Array], shape: tuple[int, ...]) -> Array:
    return operands[0].reshape(shape)


_MOVES: Mapping[str, _Fold] = MappingProxyType(
    {
        "identity": _reshaped,
        "reshape": _reshaped,
        "flatten": _reshaped,
        "squeeze": _reshaped,
        "unsqueeze": _reshaped,
        "expand": lambda _, x, shape: np.broadcast_to(x[0], shape),
        "transpose": lambda given, x, _: np.transpose(x[0], given.perm),
        "concat": lambda given, x, _: np.concatenate(x, given.axis),
        "slice": _slice,
        "gather": _gather,
    }
)


# Numbers --------------------------------------------------------------------------------------


def _divide(a: Array, b: Array) -> Array | None:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not np.all(b):
        return None
    down = (a % b != 0) & ((a < 0) != (b < 0))
    return np.asarray(a // b + down.astype(a.dtype), a.dtype)


_UFUNCS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "absolute": np.abs,
        "add": np.add,
        "ceil": np.ceil,
        "divide": _divide,
        "equal": np.equal,
        "floor": np.floor,
        "greater": np.greater,
        "greater_or_equal": np.greater_equal,
        "less": np.less,
        "less_or_equal": np.less_equal,
        "logical_and": np.logical_and,
        "logical_not": np.logical_not,
        "logical_or": np.logical_or,
        "logical_xor": np.logical_xor,
        "maximum": lambda *operands: reduce(np.maximum, operands),
        "minimum": lambda *operands: reduce(np.minimum, operands),
        "multiply": np.multiply,
        "negative": np.negative,
        "relu": lambda x: np.where((x > 0) | (x != x), x, np.zeros((), x.dtype)),
        "round_even": np.round,
        "subtract": np.subtract,
        "where": np.where,
    }
)
_REDUCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "reduce_max": np.max,
        "reduce_min": np.min,
        "reduce_prod": np.prod,
        "reduce_sum": np.sum,
    }
)


def _numbers(operator: str, attributes: Attributes, operands: Sequence[Array]) -> Array | None:
    with np.errstate(all="ignore"):
        if operator in _UFUNCS:
            if any(each.dtype in _NARROW for each in operands):
                return None
            found = _UFUNCS[operator](*operands)
            return None if found is None else np.asarray(found)
        match operator, attributes:
            case "cast", Cast(to=to):
                return _cast(operands[0], to.numpy)
            case "modulo", Modulo(fmod=fmod) if operands[1].dtype.kind in "iu":
                a, b = operands
                return np.asarray((np.fmod if fmod else np.remainder)(a, b)) if np.all(b) else None
            case _, Reduction(axes=axes, keepdims=keepdims) if operator in _REDUCTIONS:
                (data,) = operands
                if data.dtype.kind not in "iu" or data.size == 0:
                    # The sum of floats depends on their order.
                    return None
                join = _REDUCTIONS[operator]
                own = {"dtype": data.dtype} if operator in ("reduce_prod", "reduce_sum") else {}
                return np.asarray(join(data, axis=axes, keepdims=keepdims, **own))
            case _:
                return None


_STORED_FLOATS = (FLOAT16.numpy, BFLOAT16.numpy, FLOAT4.numpy)
_NARROW = (INT2.numpy, INT4.numpy, UINT2.numpy, UINT4.numpy)


def _cast(data: Array, to: np.dtype[Any]) -> Array | None:
    if data.dtype in _STORED_FLOATS:
        data = data.astype(np.float32)
    if to in _STORED_FLOATS and (data.dtype != np.float32 or bool(np.isnan(data).any())):
        # NumPy's rounding of other types and its NaNs are not those of the graph's operator.
        return None
    if data.dtype.kind == "f" and to in _NARROW:
        return None
    if data.dtype.kind == "f" and to.kind in "iu":
        # NumPy's result for numbers out of range is undefined.
        info = np.iinfo(to)
        if not np.all((data > float(info.min) - 1) & (data < float(info.max))):
            return None
    return data.astype(to)


def symbolic(operator: str, attributes: Attributes, operands: Sequence[Array]) -> Array | None:
    """The result of a graph operator on arrays with symbolic extents; None if unknown."""
    match operator, attributes:
        case "cast", Cast(to=to):
            return operands[0] if to == INT64 else None
        case "reduce_prod", Reduction(keepdims=keepdims) if operands[0].ndim == 1:
            total = np.array(product(operands[0].tolist()), object)
            return total.reshape((1,) if keepdims else ())
        case "where", _:
            condition, a, b = operands
            return np.where(condition.astype(bool), a, b)
    if operator not in _EXTENTS:
        return None
    wide = np.broadcast_arrays(*operands)
    found = np.empty(wide[0].shape, object)
    for place in np.ndindex(found.shape):
        left, right = (_extent(each[place]) for each in wide)
        numbers = isinstance(left, int) and isinstance(right, int)
        element = (_NUMBERS if numbers else _EXTENTS)[operator](left, right)
        if element is None:
            return None
        found[place] = element
    return found


def _extent(element: Any) -> Extent:
    return element if isinstance(element, Dim) else int(element)


def _quotient(a: int, b: int) -> int | None:
    """The quotient rounded towards 0, as in ONNX; None for a divisor of 0."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _equal(a: Extent, b: Extent) -> bool | None:
    """Whether extents are equal; None if unknown. Symbols are 1 or more."""
    if any(isinstance(each, int) and each < 1 for each in (a, b)):
        return False
    return True if a == b else None


def _product(a: Extent, b: Extent) -> Extent | None:
    return None if any(isinstance(each, int) and each < 0 for each in (a, b)) else product((a, b))


_NUMBERS: Mapping[str, Callable[..., Extent | bool | None]] = MappingProxyType(
    {"add": add, "divide": _quotient, "equal": eq, "multiply": mul, "subtract": sub}
)
"""Operations on two numbers."""

_EXTENTS: Mapping[str, Callable[..., Extent | bool | None]] = MappingProxyType(
    {
        "add": lambda a, b: sum_of((a, b)),
        "divide": quotient,
        "equal": _equal,
        "multiply": _product,
        "subtract": difference,
    }
)
"""Operations on two extents, at least one symbolic; they return None if unknown."""

"""Arithmetic on extents: numbers, and symbols that stand for numbers of 1 or more.

What is not known is None, for the caller to leave or to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from compiler.frontends.onnx.values import Array
from compiler.graph.attributes import Attributes
from compiler.graph.extents import Dim, Extent, difference, product, quotient, sum_of
from compiler.graph.operators.elementwise import Cast
from compiler.graph.operators.reductions import Reduction
from compiler.ir.dtypes import INT64

__all__ = ["symbolic"]


def symbolic(operator: str, attributes: Attributes, operands: Sequence[Array]) -> Array | None:
    """The result of an operator of a graph, of arrays of which some hold extents."""
    match operator, attributes:
        case "cast", Cast(to=to):
            return operands[0] if to == INT64 else None
        case "reduce_prod", Reduction(keepdims=keepdims) if operands[0].ndim == 1:
            total = np.empty((1,) if keepdims else (), object)
            total[...] = product(operands[0].tolist())
            return total
        case "where", _:
            condition, a, b = operands
            return np.where(condition.astype(bool), a, b)
    if operator not in _EXTENTS:
        return None
    function = _EXTENTS[operator]
    wide = np.broadcast_arrays(*operands)
    found = np.empty(wide[0].shape, object)
    for place in np.ndindex(found.shape):
        element = function(*(_extent(each[place]) for each in wide))
        if element is None:
            return None
        found[place] = element
    return found


def _extent(element: Any) -> Extent:
    return element if isinstance(element, Dim) else int(element)


def _equal(a: Extent, b: Extent) -> bool | None:
    """Symbols stand for 1 or more."""
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    return False if any(isinstance(each, int) and each < 1 for each in (a, b)) else None


def _product(a: Extent, b: Extent) -> Extent | None:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return None if any(isinstance(each, int) and each < 0 for each in (a, b)) else product((a, b))


def _quotient(a: Extent, b: Extent) -> Extent | None:
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient(a, b)


def _difference(a: Extent, b: Extent) -> Extent | None:
    return a - b if isinstance(a, int) and isinstance(b, int) else difference(a, b)


_EXTENTS: Mapping[str, Callable[..., Extent | bool | None]] = MappingProxyType(
    {
        "add": lambda a, b: sum_of((a, b)),
        "divide": _quotient,
        "equal": _equal,
        "multiply": _product,
        "subtract": _difference,
    }
)

"""Arithmetic on extents: numbers, and symbols that stand for numbers of 1 or more.

What is not known is None, for the caller to leave or to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, eq, mul, sub
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
    """Towards 0, as ONNX divides."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _equal(a: Extent, b: Extent) -> bool | None:
    """Symbols stand for 1 or more."""
    if any(isinstance(each, int) and each < 1 for each in (a, b)):
        return False
    return True if a == b else None


def _product(a: Extent, b: Extent) -> Extent | None:
    return None if any(isinstance(each, int) and each < 0 for each in (a, b)) else product((a, b))


_NUMBERS: Mapping[str, Callable[..., Extent | bool | None]] = MappingProxyType(
    {"add": add, "divide": _quotient, "equal": eq, "multiply": mul, "subtract": sub}
)
"""Of two numbers."""

_EXTENTS: Mapping[str, Callable[..., Extent | bool | None]] = MappingProxyType(
    {
        "add": lambda a, b: sum_of((a, b)),
        "divide": quotient,
        "equal": _equal,
        "multiply": _product,
        "subtract": difference,
    }
)
"""Where one of the two is no number."""

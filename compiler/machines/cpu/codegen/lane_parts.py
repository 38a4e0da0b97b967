"""Functions of vectors of any number of lanes, computed a register at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from tandem.compiler.machines.cpu.codegen.llvm import I32, constant


def lanes_in_parts(builder: Any, value: Any, width: int, function: Callable[[Any], Any]) -> Any:
    """`function` of a vector, `width` lanes at a time; more lanes are computed where the last part
    is narrower."""
    lanes = value.type.count
    found = None
    for begin in range(0, lanes, width):
        part = function(_lanes(builder, value, begin, width))
        found = part if found is None else _joined(builder, found, part)
    return _lanes(builder, found, 0, lanes)


def joined_lanes(builder: Any, parts: Sequence[Any]) -> Any:
    """The lanes of vectors one after the other; all but the last have equally many."""
    first, *others = parts
    for part in others:
        first = _joined(builder, first, part)
    return first


def _lanes(builder: Any, value: Any, begin: int, count: int) -> Any:
    """`count` lanes of a vector; those behind its end are undefined."""
    if begin == 0 and count == value.type.count:
        return value
    picked = [min(begin + lane, value.type.count) for lane in range(count)]
    undefined = ir.Constant(value.type, ir.Undefined)
    return builder.shuffle_vector(value, undefined, constant(ir.VectorType(I32, count), picked))


def _joined(builder: Any, left: Any, right: Any) -> Any:
    """The lanes of a vector of whole parts, then those of one more part."""
    count = left.type.count + right.type.count
    right = _lanes(builder, right, 0, left.type.count)
    return builder.shuffle_vector(left, right, constant(ir.VectorType(I32, count), [*range(count)]))

"""Which weights stay compressed: those that layers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tandem.compiler.graph.nodes import Body, Call, Let, Value
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.passes.grouping import Edge
from tandem.compiler.graph.visit import all_lets, names_of

WIDENING: Final = frozenset({"dequantise_blocks", "widen"})
"""Operators whose operands take fewer bits than their results."""


def is_widening(value: Value) -> bool:
    """Whether a value is computed from compressed weights, element by element."""
    return _operator(value) in WIDENING


def kept_compressed(body: Body) -> frozenset[str]:
    """The names of widened values that a layer reads, directly or in another order: transposed or
    reshaped, say. To compute them ahead would take the memory that compression saves."""
    wanted, found = set[str](), set[str]()
    for let in reversed([*all_lets(body)]):
        if is_layer(let.value) or (let.name in wanted and _moves(let.value)):
            wanted |= names_of(let.value)
        elif let.name in wanted and is_widening(let.value):
            found.add(let.name)
    return frozenset(found)


def widened_readers(
    lets: Sequence[Let],
    groups: Sequence[int],
    users: Sequence[Sequence[Edge]],
    escapes: Sequence[bool],
) -> dict[int, frozenset[int]]:
    """The groups that widen weights themselves, for each value that is widened from constants and
    that only layers read.

    Parameters
    ----------
    groups
        The last value of the group of each of `lets`.
    """
    found = {}
    for number, let in enumerate(lets):
        known = is_widening(let.value) and not names_of(let.value)
        readers = [edge.user for edge in users[number]]
        read = readers and all(is_layer(lets[user].value) for user in readers)
        if known and read and not escapes[number] and groups.count(groups[number]) == 1:
            found[number] = frozenset(groups[user] for user in readers)
    return found


def _operator(value: Value) -> str:
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return value.callee.name
    return ""


def is_layer(value: Value) -> bool:
    """Whether an operator reduces its operands in a way of its own, as products with weights do."""
    return (
        isinstance(value, Call)
        and isinstance(value.callee, OpSpec)
        and value.callee.pattern is OpPattern.OUT_FUSABLE
        and len(value.args) > 1
    )


def _moves(value: Value) -> bool:
    """Whether an operator only moves elements."""
    return (
        isinstance(value, Call)
        and isinstance(value.callee, OpSpec)
        and value.callee.pattern is OpPattern.INJECTIVE
    )

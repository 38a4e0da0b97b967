"""Rules of operators on tensors with bounded axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Count, Value

Results: TypeAlias = tuple[Value, ...]
Rule: TypeAlias = Callable[[Node, Results], Results]
"""Takes a node and its results, of which the converter knows counts along axes that are new;
returns the results with all their counts."""
AxisMap: TypeAlias = Mapping[tuple[int, int], int | None]
"""Maps (operand, axis) to the results' axis of the same extent; None if no element of a result that
counts depends on padding along that axis, and the results do not have it."""


def along(axes: Callable[[Node], AxisMap], *, broadcasts: bool = False) -> Rule:
    """The rule of an operator whose results have the extents of operands along some axes.

    Parameters
    ----------
    broadcasts
        Whether an operand with the extent 1 goes together with any extent.
    """

    def rule(node: Node, results: Results) -> Results:
        known, found = axes(node), dict[int, Count]()
        for position in range(node.operands):
            for axis, count in node.counts(position).items():
                if (position, axis) not in known:
                    node.refuse_bounded(position, axis)
                to = known[position, axis]
                if to is not None and not found.setdefault(to, count).is_same(count):
                    node.refuse_bounded(position, axis)
        for (position, axis), to in known.items():
            alone = broadcasts and node.input(position).shape[axis] == 1
            if to in found and axis not in node.counts(position) and not alone:
                _refuse(node, known, to)
        return tuple(replace(each, counts={**each.counts, **found}) for each in results)

    return rule


def _refuse(node: Node, known: AxisMap, to: int) -> None:
    """Refuse the operand whose bounded axis becomes axis `to` beside one of a known extent."""
    for (position, axis), own in known.items():
        if own == to and axis in node.counts(position):
            node.refuse_bounded(position, axis)

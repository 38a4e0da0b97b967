"""Views: parts of tensors that kernels read in place, where a copy would be a kernel of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tandem.compiler.graph.nodes import Call, Let, Value, Var
from tandem.compiler.graph.operators.parts import Gather, Slice
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.passes.grouping import Edge
from tandem.compiler.graph.types import TensorType, Type


def view_readers(
    lets: Sequence[Let],
    groups: Sequence[int],
    users: Sequence[Sequence[Edge]],
    escapes: Sequence[bool],
    types: Mapping[str, Type],
    limit: int,
) -> dict[int, frozenset[int]]:
    """The groups that compute a view themselves, for each value of a group of nothing but views.

    A slice without steps, or a row whose number is computed, is read in place if everything that
    uses it does so element by element, or is read in place too. Convolutions read their operands in
    blocks, and no part of another tensor.

    Parameters
    ----------
    groups
        The last value of the group of each of `lets`.
    limit
        The maximum number of operators in a group.
    """
    members: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    sizes = {group: len(each) for group, each in members.items()}
    closed = {group for let, group in zip(lets, groups, strict=True) if _is_convolution(let.value)}
    found: dict[int, frozenset[int]] = {}
    for last in sorted(members, reverse=True):
        if escapes[last] or not all(_is_view(lets[each].value, types) for each in members[last]):
            continue
        readers = [_readers(edge, groups, found, closed) for edge in users[last]]
        joined, size = frozenset[int]().union(*readers), len(members[last])
        if readers and all(readers) and all(sizes[each] + size <= limit for each in joined):
            found |= dict.fromkeys(members[last], joined)
            for group in joined:
                sizes[group] += size
    return found


def _readers(
    edge: Edge, groups: Sequence[int], views: Mapping[int, frozenset[int]], closed: set[int]
) -> frozenset[int]:
    """The groups that a use is in, if these can compute what it uses."""
    if edge.user in views:
        return views[edge.user]
    group = groups[edge.user]
    if edge.pattern is OpPattern.ELEMENTWISE and group not in closed:
        return frozenset({group})
    return frozenset()


def _is_view(value: Value, types: Mapping[str, Type]) -> bool:
    match value:
        case Call(callee=OpSpec(name="slice"), attributes=Slice(steps=steps)):
            return steps is None or {*steps} <= {1}
        case Call(callee=OpSpec(name="gather"), args=(_, Var(name=index)), attributes=Gather()):
            type_ = types[index]
            return isinstance(type_, TensorType) and type_.shape == ()
        case _:
            return False


def _is_convolution(value: Value) -> bool:
    return (
        isinstance(value, Call) and isinstance(value.callee, OpSpec) and value.callee.takes_borders
    )

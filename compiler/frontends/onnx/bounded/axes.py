"""Which axes of their operands the results of operators have."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.compiler.frontends.onnx.bounded.rule import AxisMap
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.reductions import NEUTRAL, reduced_axes
from tandem.compiler.frontends.onnx.values import Value


def _operands(node: Node) -> Iterable[tuple[int, Value]]:
    """The operands that are there, by position."""
    for position in range(node.operands):
        value = node.optional(position)
        if value is not None:
            yield position, value


def broadcast(node: Node) -> AxisMap:
    """All operands broadcast to the result."""
    rank = max(value.rank for _, value in _operands(node))
    return {
        (position, axis): axis + rank - value.rank
        for position, value in _operands(node)
        for axis in range(value.rank)
    }


def first(node: Node) -> AxisMap:
    """The result has the shape of the first operand, element by element."""
    return {(0, axis): axis for axis in range(node.input(0).rank)}


def rows(node: Node) -> AxisMap:
    """The operator works on each index of axis 0 of the first operand by itself."""
    return {(0, 0): 0}


def boxes(node: Node) -> AxisMap:
    """`RoiAlign` works on each box by itself."""
    return {(1, 0): 0, (2, 0): 0}


def _but(node: Node, *axes: int) -> AxisMap:
    """All axes of the first operand but `axes`."""
    rank = node.input(0).rank
    return {(0, axis): axis for axis in range(rank) if axis not in {each % rank for each in axes}}


def except_axis(node: Node) -> AxisMap:
    """The operator combines elements along its attribute `axis` alone."""
    axis = node.integer("axis")
    if node.version < 13 and node.operator in ("Softmax", "LogSoftmax", "Hardmax"):
        return _but(node, *range(axis % node.input(0).rank, node.input(0).rank))
    return _but(node, axis)


def before_axis(node: Node) -> AxisMap:
    """The operator combines elements along all axes from its attribute `axis` on."""
    rank = node.input(0).rank
    return _but(node, *range(node.integer("axis") % rank, rank))


def reduced(node: Node) -> AxisMap:
    """Reductions: the axes that are left; the converter has filled the others' padding."""
    axes, rank = reduced_axes(node), node.input(0).rank
    axes = tuple(range(rank)) if axes is None else axes
    gone = {(0, axis % rank): None for axis in axes} if node.operator in NEUTRAL else {}
    return {**gone, **_without(node, axes)}


def sorted_(node: Node) -> AxisMap:
    """`TopK`: all axes but the one that is sorted, whose padding comes last."""
    axis = node.integer("axis") % node.input(0).rank
    return {**_but(node, axis), (0, axis): None}


def arg(node: Node) -> AxisMap:
    return _without(node, (node.integer("axis"),))


def _without(node: Node, axes: Iterable[int]) -> AxisMap:
    """The axes that are left of the first operand after a reduction."""
    rank, kept = node.input(0).rank, bool(node.integer("keepdims"))
    gone = {each % rank for each in axes}
    left = [axis for axis in range(rank) if kept or axis not in gone]
    return {(0, axis): at for at, axis in enumerate(left) if axis not in gone}


def transposed(node: Node) -> AxisMap:
    order = node.integers("perm") or tuple(reversed(range(node.input(0).rank)))
    return {(0, axis): at for at, axis in enumerate(order)}


def unsqueezed(node: Node) -> AxisMap:
    axes = node.integers("axes") if node.has("axes") else node.numbers(1)
    rank = node.input(0).rank + len(axes or ())
    new = {each % rank for each in axes or ()}
    return {(0, axis): at for axis, at in enumerate(at for at in range(rank) if at not in new)}


def squeezed(node: Node) -> AxisMap:
    axes = node.integers("axes") if node.has("axes") else node.numbers(1)
    if axes is None:
        return {}  # whether a bounded axis has the extent 1 is not known
    rank = node.input(0).rank
    gone = {each % rank for each in axes}
    left = [axis for axis in range(rank) if axis not in gone]
    return {(0, axis): at for at, axis in enumerate(left)}


def joined(node: Node) -> AxisMap:
    """`Concat`: all axes but the one along which operands are joined."""
    joined = node.integer("axis") % node.input(0).rank
    return {
        (position, axis): axis
        for position, value in _operands(node)
        for axis in range(value.rank)
        if axis != joined
    }


def gathered(node: Node) -> AxisMap:
    data, indices = node.input(0), node.input(1)
    along_ = node.integer("axis") % data.rank
    found = {(1, axis): along_ + axis for axis in range(indices.rank)}
    for axis in range(data.rank):
        if axis != along_:
            found[0, axis] = axis if axis < along_ else axis + indices.rank - 1
    return found


def gathered_elements(node: Node) -> AxisMap:
    return {(1, axis): axis for axis in range(node.input(1).rank)}


def gathered_nd(node: Node) -> AxisMap:
    data, indices = node.input(0), node.input(1)
    if node.has("batch_dims") and node.integer("batch_dims"):
        return {}
    found = {(1, axis): axis for axis in range(indices.rank - 1)}
    depth = indices.shape[-1]
    if isinstance(depth, int):
        for axis in range(depth, data.rank):
            found[0, axis] = indices.rank - 1 + axis - depth
    return found


def encoded(node: Node) -> AxisMap:
    """`OneHot`: the axes of the indices, beside the new one."""
    rank = node.input(0).rank + 1
    new = node.integer("axis") % rank
    return {(0, axis): at for axis, at in enumerate(at for at in range(rank) if at != new)}


def multiplied(node: Node) -> AxisMap:
    """`MatMul`: the rows of the first operand and the columns of the second."""
    a, b = node.input(0), node.input(1)
    if a.rank < 2 or b.rank < 2:
        return {}
    rank = max(a.rank, b.rank)
    batch = {
        (position, axis): axis + rank - value.rank
        for position, value in ((0, a), (1, b))
        for axis in range(value.rank - 2)
    }
    return {**batch, (0, a.rank - 2): rank - 2, (1, b.rank - 1): rank - 1}


def gemm(node: Node) -> AxisMap:
    found = {(0, int(node.integer("transA"))): 0, (1, 1 - int(node.integer("transB"))): 1}
    addend = node.optional(2)
    if addend is not None:
        found |= {(2, axis): axis + 2 - addend.rank for axis in range(addend.rank)}
    return found

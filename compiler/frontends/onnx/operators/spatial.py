"""Spatial axes: attributes with a number for each, and channels behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value

Order: TypeAlias = tuple[int, ...]
"""The old axis for each new one."""

_MOST_PADDING: Final = 1 << 16


def per_axis(node: Node, name: str, count: int) -> tuple[int, ...]:
    """An attribute with a number for each spatial axis, by default 1."""
    found = node.integers(name) or (1,) * count
    if len(found) != count or min(found) < 1:
        node.refuse(f"{name} {list(found)}: {count} numbers of 1 or more are expected")
    return found


def padding_of(
    node: Node,
    data: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """The padding at the start of each spatial axis, then at the end of each."""
    count = len(kernel)
    match node.text("auto_pad", "NOTSET"):
        case "NOTSET":
            found = node.integers("pads") or (0,) * (2 * count)
            if len(found) != 2 * count or not all(0 <= each <= _MOST_PADDING for each in found):
                limits = f"{2 * count} numbers from 0 to {_MOST_PADDING}"
                node.refuse(f"pads {list(found)}: {limits} are expected")
            return found
        case "VALID":
            return (0,) * (2 * count)
        case "SAME_UPPER" | "SAME_LOWER" as mode:
            before, after = [], []
            for extent, k, stride, gap in zip(
                data.shape[2:], kernel, strides, dilation, strict=True
            ):
                if not isinstance(extent, int):
                    node.unsupported(f"auto_pad {mode} of data {data.type}: give its shape")
                reach = (k - 1) * gap + 1
                total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
                before.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
                after.append(total - before[-1])
            return (*before, *after)
        case other:
            node.refuse(f"auto_pad is {other!r}")


def channels_first(node: Node, data: Value) -> Value:
    """The data as [N, C, ...], from [N, ..., C] if the node has `channels_last` of ONNX Runtime."""
    return moved_to_front(node, data) if node.integer("channels_last", 0) else data


def channels_as_given(node: Node, data: Value) -> Value:
    """A result [N, C, ...] in the order that `channels_first` found."""
    return moved_to_back(node, data) if node.integer("channels_last", 0) else data


def moved_to_front(node: Node, data: Value) -> Value:
    """[N, ..., C] as [N, C, ...]."""
    return node.permuted(data, (0, data.rank - 1, *range(1, data.rank - 1)))


def moved_to_back(node: Node, data: Value) -> Value:
    """[N, C, ...] as [N, ..., C]."""
    return node.permuted(data, (0, *range(2, data.rank), 1))


def in_first_order(
    node: Node, values: Sequence[Value], compute: Callable[[Sequence[Value], Order], Value]
) -> Value:
    """What is computed element by element from values, before transpositions that are the same for
    all of them.

    Channels that were moved to the back for such an operator are moved behind it, where the next
    layer moves them to the front again.

    Parameters
    ----------
    compute
        Takes the values and, for each of their axes now, the axis that it was before.
    """
    found = [node.permutation(value) for value in values]
    orders = {each[1] for each in found if each is not None}
    if None in found or len(orders) != 1:
        return compute(values, tuple(range(max(value.rank for value in values))))
    (order,) = orders
    before = [each[0] for each in found if each is not None]
    return node.permuted(compute(before, order), order)

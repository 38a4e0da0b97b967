"""Pooling."""

from __future__ import annotations

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.spatial import padding_of, per_axis
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.reductions import (
    AveragePool,
    LpPool,
    MaxPool,
    MaxPoolIndex,
    Reduction,
)


def _pool(node: Node) -> Value:
    data = node.input(0)
    window = window_of(node, data)
    ceil_mode = bool(node.integer("ceil_mode", 0))
    if node.operator == "LpPool":
        return node.call("lp_pool", data, to=LpPool(*window, ceil_mode, _order(node)))
    counted = bool(node.integer("count_include_pad", 0))
    return node.call("average_pool", data, to=AveragePool(*window, ceil_mode, counted))


def _order(node: Node) -> int:
    """The order of a norm, which is a float in opset 1."""
    if node.version > 1:
        return node.integer("p")
    order = node.real("p")
    if not order.is_integer():
        node.unsupported(f"p is {order}")
    return int(order)


def window_of(
    node: Node, data: Value
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Kernel, strides, padding and dilation of a pool over `data`, from the node's attributes."""
    kernel = node.integers("kernel_shape") or ()
    if len(kernel) != data.rank - 2:
        node.refuse(f"kernel_shape {list(kernel)} for data {data.type}")
    strides, dilation = (per_axis(node, name, len(kernel)) for name in ("strides", "dilations"))
    return kernel, strides, padding_of(node, data, kernel, strides, dilation), dilation


def _global_lp_pool(node: Node) -> Value:
    data, order = node.input(0), _order(node)
    if data.rank < 3:
        node.refuse(f"{data.type} has no spatial axes")
    magnitude = node.call("absolute", data)
    powers = node.call("power", magnitude, node.number(order, data))
    total = node.call("reduce_sum", powers, to=Reduction(tuple(range(2, data.rank)), True))
    return node.call("power", total, node.number(1 / order, data))


def _max_pool(node: Node) -> tuple[Value, ...]:
    """The greatest elements, and their positions in the whole tensor if they are used."""
    data = node.input(0)
    window = window_of(node, data)
    ceil_mode = bool(node.integer("ceil_mode", 0))
    found = node.call("max_pool", data, to=MaxPool(*window, ceil_mode))
    if not node.uses(1):
        return (found,)
    columns_first = bool(node.integer("storage_order", 0))
    to = MaxPoolIndex(*window, ceil_mode, columns_first)
    return found, node.call("max_pool_index", data, to=to)


CONVERTERS: tuple[Converter, ...] = (
    Converter("MaxPool", (1, 8, 10, 11, 12, 22), _max_pool),
    Converter("AveragePool", (1, 7, 10, 11, 19, 22), _pool),
    Converter("LpPool", (1, 2, 11, 18, 22), _pool),
    Converter("GlobalAveragePool", (1, 22), direct("global_average_pool")),
    Converter("GlobalMaxPool", (1, 22), direct("global_max_pool")),
    Converter("GlobalLpPool", (1, 2, 22), _global_lp_pool),
)

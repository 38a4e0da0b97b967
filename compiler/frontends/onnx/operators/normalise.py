"""Normalisation operators."""

from __future__ import annotations

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import product
from tandem.compiler.graph.operators.reductions import AveragePool, Epsilon, LayerNorm, Reduction


def _batch_norm(node: Node) -> Value | tuple[Value, ...]:
    if node.integer("training_mode", 0):
        return _batch_norm_training(node)
    node.only_first()
    if not node.integer("is_test", 1):
        node.unsupported("training: is_test is 0")
    if not node.integer("spatial", 1):
        node.unsupported("spatial 0")
    return node.call("batch_norm", *node.inputs, to=Epsilon(node.real("epsilon")))


def _batch_norm_training(node: Node) -> tuple[Value, ...]:
    """Normalised by the data's own mean and variance; the running mean and variance."""
    data, scale, bias, *running = (node.input(position) for position in range(5))
    axes = (0, *range(2, data.rank))
    mean, variance = _moments(node, data, axes, keepdims=False)
    epsilon, momentum = Epsilon(node.real("epsilon")), node.real("momentum")
    result = node.call("batch_norm", data, scale, bias, mean, variance, to=epsilon)
    updated = []
    for old, new in zip(running, (mean, variance), strict=True):
        kept = node.call("multiply", old, node.number(momentum, old))
        added = node.call("multiply", new, node.number(1 - momentum, new))
        updated.append(node.call("add", kept, node.cast(added, kept.dtype)))
    return result, *updated


def _moments(node: Node, data: Value, axes: tuple[int, ...], keepdims: bool) -> tuple[Value, Value]:
    """The mean and the variance along axes."""
    mean = node.call("reduce_mean", data, to=Reduction(axes, True))
    apart = node.call("subtract", data, mean)
    squares = node.call("multiply", apart, apart)
    variance = node.call("reduce_mean", squares, to=Reduction(axes, keepdims))
    if not keepdims:
        mean = node.reshape(mean, variance.shape)
    return mean, variance


def layer_norm(node: Node) -> tuple[Value, ...]:
    """The result, and the mean and the reciprocal of the deviation if they are used."""
    data, epsilon = node.input(0), node.real("epsilon")
    to = LayerNorm(node.integer("axis"), epsilon)
    result = node.call("layer_norm", data, node.input(1), node.optional(2), to=to)
    if not node.uses(1) and not node.uses(2):
        return (result,)
    (axis,) = node.axes([to.axis], data)
    axes = tuple(range(axis % data.rank, data.rank))
    mean, variance = _moments(node, data, axes, keepdims=True)
    deviation = node.call("sqrt", node.call("add", variance, node.number(epsilon, data)))
    return result, mean, node.call("reciprocal", deviation)


def _group_norm(node: Node) -> Value:
    data, scale, bias = node.input(0), node.input(1), node.input(2)
    if data.rank < 2:
        node.refuse(f"{data.type} has no channels")
    groups = node.integer("num_groups")
    rows = node.reshape(data, (data.shape[0], groups, -1))
    one = node.constant(np.ones(1, data.dtype.numpy))
    flat = node.call("layer_norm", rows, one, to=LayerNorm(-1, node.real("epsilon")))
    channels = (1, data.shape[1], *(1,) * (data.rank - 2))
    scaled = node.call("multiply", node.reshape(flat, data.shape), node.reshape(scale, channels))
    return node.call("add", scaled, node.reshape(bias, channels))


def _lp_norm(node: Node) -> Value:
    data, axis, order = node.input(0), node.integer("axis"), node.integer("p")
    if order not in (1, 2):
        node.refuse(f"p is {order}")
    length = node.call(f"reduce_l{order}", data, to=Reduction((axis,), True))
    zero = node.number(0, data)
    # A zero vector is divided by 1, not by its length 0.
    safe = node.call("where", node.call("equal", length, zero), node.number(1, data), length)
    return node.call("divide", data, safe)


def _local_response(node: Node) -> Value:
    """data / (bias + alpha / size * (sum of squares of `size` adjacent channels)) ** beta."""
    data, size = node.input(0), node.integer("size")
    if data.rank < 3:
        node.refuse(f"{data.type} has no spatial axes")
    if size < 1:
        node.refuse(f"size is {size}")
    # The mean over channels is an average pool over an image whose rows are channels.
    rows = (data.shape[0], 1, data.shape[1], product(data.shape[2:]))
    squares = node.reshape(node.call("multiply", data, data), rows)
    around = AveragePool(
        kernel=(size, 1),
        padding=((size - 1) // 2, 0, size // 2, 0),
        count_include_pad=True,
    )
    means = node.reshape(node.call("average_pool", squares, to=around), data.shape)
    scaled = node.call("multiply", means, node.number(node.real("alpha"), data))
    total = node.call("add", scaled, node.number(node.real("bias"), data))
    power = node.call("power", total, node.number(node.real("beta"), data))
    return node.call("divide", data, power)


CONVERTERS: tuple[Converter, ...] = (
    Converter("BatchNormalization", (1, 6, 7, 9, 14, 15), _batch_norm, "`spatial` 1"),
    Converter("InstanceNormalization", (1, 6, 22), direct("instance_norm")),
    Converter("LayerNormalization", (17,), layer_norm),
    Converter("RMSNormalization", (23,), direct("rms_norm")),
    Converter("GroupNormalization", (21,), _group_norm),
    Converter("LpNormalization", (1, 22), _lp_norm),
    Converter("LRN", (1, 13), _local_response),
)

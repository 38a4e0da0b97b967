"""Optimisers: new parameters from old ones and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tandem.compiler.frontends.onnx.converter import Convert, Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value

_Rate: TypeAlias = tuple[Value, Value]
"""The learning rate and the number of the step, from 0."""
_Update: TypeAlias = Callable[[Node, _Rate, Value, Value, tuple[Value, ...]], tuple[Value, ...]]
"""Maps the rate, a parameter, its gradient and its state to the new parameter and state."""


def _for_each(states: int, update: _Update) -> Convert:
    """A conversion for operators on all parameters, then all gradients, then all states."""

    def convert(node: Node) -> tuple[Value, ...]:
        rate, step, *tensors = node.inputs
        count = len(tensors) // (2 + states)
        if count < 1 or len(tensors) != count * (2 + states):
            node.refuse(f"{len(tensors)} tensors: {2 + states} for each parameter are expected")
        groups = [tensors[start::count] for start in range(count)]
        if any(each.shape != group[0].shape for group in groups for each in group):
            node.refuse("tensors of one parameter differ in shape")
        found = [
            update(node, (rate, step), parameter, _regularised(node, parameter, gradient), (*rest,))
            for parameter, gradient, *rest in groups
        ]
        return tuple(value for values in zip(*found, strict=True) for value in values)

    return convert


def _scaled(node: Node, value: Value, factor: float) -> Value:
    return node.call("multiply", value, node.number(factor, value))


def _regularised(node: Node, parameter: Value, gradient: Value) -> Value:
    return node.call("add", _scaled(node, parameter, node.real("norm_coefficient")), gradient)


def _adagrad(
    node: Node, rate: _Rate, parameter: Value, gradient: Value, state: tuple[Value, ...]
) -> tuple[Value, ...]:
    (squares,) = state
    decay = _scaled(node, node.cast(rate[1], rate[0].dtype), node.real("decay_factor"))
    divisor = node.call("add", decay, node.number(1, decay))
    step = node.call("divide", rate[0], divisor)
    total = node.call("add", squares, node.call("multiply", gradient, gradient))
    root = node.call("sqrt", total)
    size = node.call("add", root, node.number(node.real("epsilon"), root))
    change = node.call("divide", node.call("multiply", step, gradient), size)
    return node.call("subtract", parameter, change), total


def _adam(
    node: Node, rate: _Rate, parameter: Value, gradient: Value, state: tuple[Value, ...]
) -> tuple[Value, ...]:
    alpha, beta = node.real("alpha"), node.real("beta")
    first, second = state
    first = _average(node, first, gradient, alpha)
    second = _average(node, second, node.call("multiply", gradient, gradient), beta)
    root = node.call("sqrt", second)
    size = node.call("add", root, node.number(node.real("epsilon"), root))
    step = node.cast(rate[1], rate[0].dtype)

    def missing(factor: float) -> Value:
        """1 - factor ** step"""
        power = node.call("power", node.number(factor, step), step)
        return node.call("subtract", node.number(1, step), power)

    corrected = node.call(
        "divide", node.call("multiply", rate[0], node.call("sqrt", missing(beta))), missing(alpha)
    )
    started = node.call("greater", step, node.number(0, step))
    adjusted = node.call("where", started, corrected, rate[0])
    change = node.call("divide", node.call("multiply", adjusted, first), size)
    moved = node.call("subtract", parameter, change)
    return _scaled(node, moved, 1 - node.real("norm_coefficient_post")), first, second


def _average(node: Node, old: Value, new: Value, kept: float) -> Value:
    return node.call("add", _scaled(node, old, kept), _scaled(node, new, 1 - kept))


def _momentum(
    node: Node, rate: _Rate, parameter: Value, gradient: Value, state: tuple[Value, ...]
) -> tuple[Value, ...]:
    (old,) = state
    alpha, step = node.real("alpha"), rate[1]
    started = node.call("greater", step, node.number(0, step))
    factor = node.call(
        "where", started, node.number(node.real("beta"), gradient), node.number(1, gradient)
    )
    velocity = node.call("add", _scaled(node, old, alpha), node.call("multiply", factor, gradient))
    direction = velocity
    if node.word("mode", ("standard", "nesterov")) == "nesterov":
        direction = node.call("add", gradient, _scaled(node, velocity, alpha))
    change = node.call("multiply", rate[0], direction)
    return node.call("subtract", parameter, change), velocity


_DOMAIN = "ai.onnx.preview.training"

CONVERTERS: tuple[Converter, ...] = (
    Converter(f"{_DOMAIN}.Adagrad", (1,), _for_each(1, _adagrad)),
    Converter(f"{_DOMAIN}.Adam", (1,), _for_each(2, _adam)),
    Converter(f"{_DOMAIN}.Momentum", (1,), _for_each(1, _momentum)),
)

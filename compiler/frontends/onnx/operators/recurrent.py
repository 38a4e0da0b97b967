"""Recurrent layers: LSTM, GRU and RNN, as loops over their cells, unrolled if they are short.

All products with the inputs, of all time steps, are one matrix product before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from tandem.compiler.frontends.onnx.converter import Convert, Converter
from tandem.compiler.frontends.onnx.loops import repeat, reversed_rows, stack
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.shapes import Expand, Transpose, Unsqueeze

Activation: TypeAlias = Callable[[Value], Value]

_DEFAULTS: Final[Mapping[str, tuple[str, tuple[float, ...]]]] = MappingProxyType(
    {
        "relu": ("relu", ()),
        "tanh": ("tanh", ()),
        "sigmoid": ("sigmoid", ()),
        "softsign": ("softsign", ()),
        "softplus": ("softplus", ()),
        "leakyrelu": ("leaky_relu", (0.01,)),
        "thresholdedrelu": ("thresholded_relu", (1.0,)),
        "elu": ("elu", (1.0,)),
        "hardsigmoid": ("hard_sigmoid", (0.2, 0.5)),
        "affine": ("", (1.0, 0.0)),
        "scaledtanh": ("tanh", (1.0, 1.0)),
    }
)
"""Activations by name in lower case: the graph's operator, and defaults of alpha and beta."""
_VALUES: Final = 20
"""About the number of values of a cell."""
_UNROLLED: Final = 64
"""The maximum number of time steps that are unrolled: more take as long, and compile once."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell in one direction.

    Attributes
    ----------
    weights
        The recurrent weights, [gates * hidden, hidden].
    bias
        The bias of the recurrent product, [gates * hidden]; None if it is added to the inputs'.
    activations
        The activations, in the order of the operator's definition.
    peepholes
        Weights of the cell state in each gate, [3 * hidden], or None.
    """

    node: Node
    hidden: int
    weights: Value
    bias: Value | None
    activations: Sequence[Activation]
    peepholes: Value | None = None

    def part(self, value: Value, gates: Sequence[int]) -> Value:
        """The parts of a value along its last axis that belong to adjacent gates."""
        first, last = gates[0] * self.hidden, (gates[-1] + 1) * self.hidden
        axis = value.rank - 1
        if (first, last) == (0, value.shape[axis]):
            return value
        return self.node.call("slice", value, to=Slice((first,), (last,), (axis,)))

    def row(self, value: Value, gate: int) -> Value:
        """The part of a weight's rows that belongs to a gate."""
        start = gate * self.hidden
        return self.node.call("slice", value, to=Slice((start,), (start + self.hidden,), (0,)))


Advance: TypeAlias = Callable[[_Cell, Value, Sequence[Value]], tuple[Value, ...]]
"""The next state of a cell from the products of its inputs, [batch, gates * hidden], and its state:
the hidden values, [batch, hidden], and for an LSTM the cell's."""


def _rnn(cell: _Cell, inputs: Value, state: Sequence[Value]) -> tuple[Value, ...]:
    node = cell.node
    (activation,) = cell.activations
    product = node.call("dense", state[0], cell.weights, to=Product())
    return (activation(node.call("add", inputs, product)),)


def _gru(cell: _Cell, inputs: Value, state: Sequence[Value]) -> tuple[Value, ...]:
    node = cell.node
    gate, candidate = cell.activations
    (hidden,) = state
    both = node.call("slice", cell.weights, to=Slice((0,), (2 * cell.hidden,), (0,)))
    rest = cell.row(cell.weights, 2)
    first = node.call("dense", hidden, both, to=Product())
    gates = gate(node.call("add", cell.part(inputs, (0, 1)), first))
    update, reset = cell.part(gates, (0,)), cell.part(gates, (1,))
    if cell.bias is None:
        product = node.call("dense", node.call("multiply", reset, hidden), rest, to=Product())
    else:
        product = node.call("dense", hidden, rest, cell.row(cell.bias, 2), to=Product())
        product = node.call("multiply", reset, product)
    new = candidate(node.call("add", cell.part(inputs, (2,)), product))
    one = node.number(1, update)
    kept = node.call("multiply", update, hidden)
    return (node.call("add", node.call("multiply", node.call("subtract", one, update), new), kept),)


def _lstm(cell: _Cell, inputs: Value, state: Sequence[Value]) -> tuple[Value, ...]:
    node = cell.node
    gate, candidate, output = cell.activations
    hidden, memory = state
    product = node.call("dense", hidden, cell.weights, to=Product())
    sums = node.call("add", inputs, product)

    def peeped(number: int, memory: Value) -> Value:
        """The sums of gate i, o or f, with those of the memory."""
        own = cell.part(sums, (number,))
        if cell.peepholes is None:
            return own
        weights = cell.row(cell.peepholes, number)
        return node.call("add", own, node.call("multiply", memory, weights))

    enter = gate(peeped(0, memory))
    if node.integer("input_forget", 0):
        forget = node.call("subtract", node.number(1, enter), enter)
    else:
        forget = gate(peeped(2, memory))
    new = candidate(cell.part(sums, (3,)))
    kept = node.call("multiply", forget, memory)
    memory = node.call("add", kept, node.call("multiply", enter, new))
    leave = gate(peeped(1, memory))
    return node.call("multiply", leave, output(memory)), memory


def _recurrent(
    advance: Advance, states: int, defaults: Sequence[str], peepholes: bool = False
) -> Convert:
    """The conversion of a recurrent layer with `states` values of state."""

    def convert(node: Node) -> tuple[Value, ...]:
        data, weights, recurrent = node.input(0), node.input(1), node.input(2)
        if data.rank != 3 or weights.rank != 3 or recurrent.rank != 3:
            node.refuse(f"X is {data.type}, W {weights.type}, R {recurrent.type}: 3 axes each")
        batch_first = node.has("layout") and bool(node.integer("layout", 0))
        if batch_first:
            data = node.call("transpose", data, to=Transpose((1, 0, 2)))
        # ONNX misspells the default of opset 1's GRU.
        directions = ("forward", "reverse", "bidirectional", "foward")
        direction = node.word("direction", directions)
        count = 2 if direction == "bidirectional" else 1
        hidden = node.extent(2, recurrent)
        if node.integer("hidden_size", hidden) != hidden or recurrent.shape[0] != count:
            node.refuse(f"R is {recurrent.type}, for {count} directions")
        own = [_initial(node, data, 5 + at, count, hidden, batch_first) for at in range(states)]
        activations = _activations(node, count, defaults)
        rows, last = [], []
        for at in range(count):
            backwards = direction == "reverse" or at == 1
            inputs, bias = _inputs(node, data, at, hidden)
            peephole = node.optional(7) if peepholes else None
            cell = _Cell(
                node,
                hidden,
                _of_direction(node, recurrent, at),
                bias,
                activations[at],
                None if peephole is None else _of_direction(node, peephole, at),
            )
            first = [_of_direction(node, each, at) for each in own]
            found, end = _run(cell, advance, inputs, first, backwards)
            rows.append(found)
            last.append(end)
        single = [node.call("unsqueeze", each, to=Unsqueeze((1,))) for each in rows]
        output = single[0] if count == 1 else node.call("concat", *single, to=Concat(1))
        ends = [stack(node, each) for each in zip(*last, strict=True)]
        if batch_first:
            output = node.call("transpose", output, to=Transpose((2, 0, 1, 3)))
            ends = [node.call("transpose", each, to=Transpose((1, 0, 2))) for each in ends]
        return (output, *ends)

    return convert


def _of_direction(node: Node, value: Value, direction: int) -> Value:
    """The part of an operand, along its first axis, for a direction."""
    index = node.constant(np.array(direction, np.int64))
    return node.call("gather", value, index, to=Gather(0))


def _initial(
    node: Node, data: Value, position: int, directions: int, hidden: int, batch_first: bool
) -> Value:
    """An initial state, [directions, batch, hidden]; zeros if it is missing."""
    given = node.optional(position)
    if given is None:
        zero = node.number(0, data)
        return node.call("expand", zero, to=Expand((directions, node.extent(1, data), hidden)))
    return node.call("transpose", given, to=Transpose((1, 0, 2))) if batch_first else given


def _inputs(node: Node, data: Value, direction: int, hidden: int) -> tuple[Value, Value | None]:
    """The products of all inputs with their weights, [time, batch, gates * hidden], with all biases
    but the one that is returned."""
    weights = _of_direction(node, node.input(1), direction)
    width, both = node.extent(0, weights), node.optional(3)
    bias, inner = None, None
    if both is not None:
        both = _of_direction(node, both, direction)
        bias = node.call("slice", both, to=Slice((0,), (width,), (0,)))
        inner = node.call("slice", both, to=Slice((width,), (2 * width,), (0,)))
        if node.has("linear_before_reset") and node.integer("linear_before_reset", 0):
            # The candidate's own is added before the reset.
            added = node.call("slice", inner, to=Slice((0,), (2 * hidden,), (0,)))
            zeros = node.constant(np.zeros(hidden, data.dtype.numpy))
            bias = node.call("add", bias, node.call("concat", added, zeros, to=Concat(0)))
        else:
            bias, inner = node.call("add", bias, inner), None
    elif node.has("linear_before_reset") and node.integer("linear_before_reset", 0):
        inner = node.constant(np.zeros(width, data.dtype.numpy))
    steps, batch = node.extent(0, data), node.extent(1, data)
    flat = node.reshape(data, (steps * batch, node.extent(2, data)))
    product = node.call("dense", flat, weights, bias, to=Product())
    return node.reshape(product, (steps, batch, width)), inner


def _run(
    cell: _Cell, advance: Advance, inputs: Value, state: Sequence[Value], backwards: bool
) -> tuple[Value, Sequence[Value]]:
    """The hidden values of all time steps, [time, batch, hidden], and the last state."""
    node, steps = cell.node, cell.node.extent(0, inputs)
    lengths = node.optional(4)
    if lengths is not None and lengths.known is not None and np.all(lengths.known == steps):
        lengths = None
    last = node.constant(np.array(steps - 1, np.int64))
    zero = node.number(0, inputs)

    def step(index: Value, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        time = node.call("subtract", last, index) if backwards else index
        after = advance(cell, node.call("gather", inputs, time, to=Gather(0)), given)
        if lengths is None:
            return after, after[:1]
        inside = node.call("less", node.cast(time, lengths.dtype), lengths)
        inside = node.call("unsqueeze", inside, to=Unsqueeze((1,)))
        kept = [node.call("where", inside, new, old) for new, old in zip(after, given, strict=True)]
        return kept, [node.call("where", inside, after[0], zero)]

    end, (rows,) = repeat(node, steps, state, step, _VALUES, _UNROLLED)
    return reversed_rows(node, rows) if backwards else rows, end


def _activations(
    node: Node, directions: int, defaults: Sequence[str]
) -> list[Sequence[Activation]]:
    """The activations of each direction; they take alpha and beta in order, where they have any."""
    names = node.texts("activations") or (*defaults,) * directions
    if len(names) < directions * len(defaults):
        node.refuse(f"{len(names)} activations, and {directions * len(defaults)} are needed")
    alphas, betas = iter(node.reals("activation_alpha")), iter(node.reals("activation_beta"))
    clip = node.real("clip") if "clip" in node.given() else None
    found: list[Activation] = []
    size = len(defaults)
    # RNN's own default has activations for two directions.
    for name in names[: directions * size]:
        if name.lower() not in _DEFAULTS:
            node.refuse(f"activation {name!r}")
        operator, own = _DEFAULTS[name.lower()]
        numbers = [
            next(given, default) for given, default in zip((alphas, betas), own, strict=False)
        ]
        # An LSTM's third activation, that of its memory, is not clipped: so ONNX Runtime.
        bound = None if len(found) % size == 2 else clip
        found.append(_activation(node, name.lower(), operator, numbers, bound))
    return [found[size * at : size * (at + 1)] for at in range(directions)]


def _activation(
    node: Node, name: str, operator: str, numbers: Sequence[float], clip: float | None
) -> Activation:
    def scaled(value: Value, number: float) -> Value:
        return node.call("multiply", value, node.number(number, value))

    def apply(value: Value) -> Value:
        if clip is not None:
            value = node.call("clip", value, to=Clip(-clip, clip))
        match name:
            case "affine":
                return node.call("add", scaled(value, numbers[0]), node.number(numbers[1], value))
            case "scaledtanh":
                return scaled(node.call("tanh", scaled(value, numbers[1])), numbers[0])
            case _:
                return node.call(operator, value, to=OPERATORS[operator].attributes(*numbers))

    return apply


_LIMITS: Final = "numbers of time steps and of sequences known at import"

CONVERTERS: tuple[Converter, ...] = (
    Converter("RNN", (1, 7, 14, 22), _recurrent(_rnn, 1, ("Tanh",)), _LIMITS),
    Converter("GRU", (1, 3, 7, 14, 22), _recurrent(_gru, 1, ("Sigmoid", "Tanh")), _LIMITS),
    Converter(
        "LSTM",
        (1, 7, 14, 22),
        _recurrent(_lstm, 2, ("Sigmoid", "Tanh", "Tanh"), True),
        f"{_LIMITS}; `clip` is for the sums of gates",
    ),
)

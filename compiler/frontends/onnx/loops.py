"""Loops of nodes: unrolled if short, else functions that end by calling themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from tandem.compiler.frontends.onnx.builder import Builder, Callee
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Body, If, Param, Tuple, TupleGet, Var
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.operators.shapes import Expand, Unsqueeze
from tandem.compiler.graph.types import TensorType, TupleType
from tandem.compiler.ir.dtypes import BOOL, INT64

UNROLLED: Final = 4096
"""The maximum number of values of a loop that is unrolled: iterations times values of a body."""
ITERATIONS: Final = 256
"""The maximum number of iterations of a loop that is unrolled."""

MOST_ROWS: Final = 1 << 20
"""The maximum number of rows of a loop of which only the limit is known."""

_SCALAR: Final = TensorType((), INT64)
_TRUTH: Final = TensorType((), BOOL)

Step: TypeAlias = Callable[[Value, Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]]
"""Emits an iteration: takes its number, a scalar, and the state; returns the next state, and the
rows that the iteration adds to the loop's arrays of rows."""

ConditionalStep: TypeAlias = Callable[
    [Value, Value | None, Sequence[Value]],
    tuple[Value | None, Sequence[Value], Sequence[Value]],
]
"""As `Step`, of a loop with a condition: takes it too, and returns the next one before the rest."""


def is_short(count: int, values: int) -> bool:
    """Whether a loop of `count` iterations is unrolled; `values` estimates those of its body."""
    return count <= ITERATIONS and count * max(values, 1) <= UNROLLED


def repeat(
    node: Node,
    count: int,
    state: Sequence[Value],
    step: Step,
    values: int,
    unrolled: int = ITERATIONS,
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The last state of a loop of a known number of iterations, and its rows, stacked along axis 0.

    Parameters
    ----------
    values
        The number of values of an iteration, by which long loops are told from short ones.
    unrolled
        The maximum number of iterations of a short loop.
    """
    if count and count <= unrolled and is_short(count, values):
        rows: list[Sequence[Value]] = []
        for number in range(count):
            state, added = step(node.constant(np.array(number, np.int64)), state)
            rows.append(added)
        return tuple(state), tuple(stack(node, each) for each in zip(*rows, strict=True))
    return _counted(node, count, state, step)


def stack(node: Node, rows: Sequence[Value]) -> Value:
    """Values of one type along a new first axis."""
    single = [node.call("unsqueeze", row, to=Unsqueeze((0,))) for row in rows]
    return single[0] if len(single) == 1 else node.call("concat", *single, to=Concat(0))


def reversed_rows(node: Node, value: Value) -> Value:
    """The value in the opposite order along axis 0."""
    count = node.extent(0, value)
    return node.call("slice", value, to=Slice((-1,), (-count - 1,), (0,), (-1,)))


def _counted(
    node: Node, count: int, state: Sequence[Value], step: Step
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """As `repeat`, by a function."""
    return collect(node, count, None, state, lambda index, _, given: (None, *step(index, given)))


def collect(
    node: Node, most: int, go: Value | None, state: Sequence[Value], step: ConditionalStep
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The last state of a loop of at most `most` iterations, as a call of a function, and its rows.

    Rows are written to arrays that are part of the state, of `most` rows each: those behind the
    last iteration are zeros. `go` says whether there is a first iteration; None if always.
    """
    fixed = len(state)
    trial = node.builder.inner()
    with node.within(trial):
        index, *given = _values([trial.param("index", _SCALAR), *_params(trial, state)])
        condition = None if go is None else _values([trial.param("go", _TRUTH)])[0]
        _, _, rows = step(index, condition, given)
    arrays = [_empty(node, most, row.type) for row in rows]

    def iteration(
        index: Value, condition: Value | None, given: Sequence[Value]
    ) -> tuple[Value | None, Sequence[Value]]:
        after, following, added = step(index, condition, given[:fixed])
        written = [
            node.call("put_row", array, row, index)
            for row, array in zip(added, given[fixed:], strict=True)
        ]
        return after, (*following, *written)

    limit = node.constant(np.array(most, np.int64))
    found = loop(node, limit, go, (*state, *arrays), iteration)
    return found[:fixed], found[fixed:]


def _empty(node: Node, count: int, row: TensorType) -> Value:
    zero = node.constant(np.zeros((), row.dtype.numpy))
    shape = row.static_shape("a row of a loop")
    return node.call("expand", zero, to=Expand((count, *shape)))


def _params(builder: Builder, values: Sequence[Value]) -> list[Param]:
    """Parameters of the types of values."""
    return [builder.param("state", each.type) for each in values]


def _values(params: Sequence[Param]) -> list[Value]:
    """Parameters as values."""
    found = []
    for param in params:
        assert isinstance(param.type, TensorType), "made of a value"
        found.append(Value(param.type, Var(param.name)))
    return found


Iteration: TypeAlias = Callable[
    [Value, Value | None, Sequence[Value]], tuple[Value | None, Sequence[Value]]
]
"""Emits an iteration: takes its number, the condition and the state; returns the next condition,
None if the loop has none, and the next state."""


def loop(
    node: Node,
    limit: Value | None,
    go: Value | None,
    state: Sequence[Value],
    iteration: Iteration,
) -> tuple[Value, ...]:
    """The last state of a loop, as a call of a function.

    ::

        func @loop(index, go, state...) -> (state...):
          less = less(index, limit)
          more = logical_and(go, less)
          last = if more:
            ...                                       the iteration
            next = add(index, 1)
            again = @loop(next, go', state'...)
            yield again
          else:
            same = (state...)
            yield same
          return last

    Parameters
    ----------
    limit
        The maximum number of iterations, a scalar of int64; None if there is none.
    go
        Whether there is a first iteration, a bool scalar; None if the loop has no condition.
    """
    outer = node.builder
    heading = [outer.param("index", _SCALAR)]
    heading += [] if go is None else [outer.param("go", _TRUTH)]
    params = [*heading, *_params(outer, state)]
    index, *given = _values(params)
    condition = None if go is None else given.pop(0)
    inner, header = outer.inner(), outer.inner()
    with node.within(inner):
        after, following = iteration(index, condition, given)
        one = node.constant(np.ones((), np.int64))
        values = [node.call("add", index, one), *([] if after is None else [after]), *following]
        drafted = node.atoms(inner.end_body("loop", values))
    for old, new in zip(state, following, strict=True):
        if old.type != new.type:
            node.unsupported(
                f"a value that is {old.type} before an iteration of the loop and {new.type} after"
            )
    with node.within(header):
        tests = [] if condition is None else [condition]
        tests += [] if limit is None else [node.call("less", index, limit)]
        if not tests:
            node.unsupported("a loop without an end")
        more = tests[0] if len(tests) == 1 else node.call("logical_and", *tests)
        (test,) = node.atoms(header.end_body("more", [more]))
    result = TupleType(tuple(each.type for each in state))

    def body(callee: Callee) -> Body:
        again, same, last = outer.inner(), outer.inner(), outer.inner()
        again.add(inner.lets)
        call = again.bind(callee.call(drafted), result)
        items = tuple(same.atom(each) for each in given)
        choice = If(
            test,
            again.body("again", call),
            same.body("same", same.bind(Tuple(items), result)),
        )
        last.add(header.lets)
        return last.body("last", last.bind(choice, result))

    callee = outer.function(f"{node.operator}_loop", params, body, result)
    zero = node.constant(np.zeros((), np.int64))
    whole = outer.bind(
        callee.call(node.atoms([zero, *([] if go is None else [go]), *state])), result
    )
    return tuple(
        Value(value.type, outer.bind(TupleGet(whole, number), value.type))
        for number, value in enumerate(state)
    )


def known_truth(value: Value | None) -> bool | None:
    """The truth of a condition that is known at import, else None."""
    if value is None or not isinstance(value.atom, Constant):
        return None
    return bool(value.atom.array.reshape(-1)[0])

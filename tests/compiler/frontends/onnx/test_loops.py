"""Loops of nodes, unrolled and as functions: what a loop in Python computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.errors import UnsupportedError
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.loops import (
    collect,
    is_short,
    known_truth,
    loop,
    repeat,
    reversed_rows,
    stack,
)
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Module, Param, Tuple, Var
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import TensorType, TupleType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import program
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT64

VECTOR = TensorType((2,), FLOAT32)


class Loop:
    """A node to which calls are added, with inputs `x` and `y` of two floats each."""

    def __init__(self) -> None:
        self.builder = Builder(set())
        definition = standard("Loop", 16, "")
        assert definition is not None
        proto = helper.make_node("Loop", [], ["r"], "n")
        self.node = Node(proto, definition, [], frozenset(), self.builder)
        self.params: list[Param] = []
        self.x, self.y = self.input("x", VECTOR), self.input("y", VECTOR)

    def input(self, name: str, type_: TensorType) -> Value:
        self.params.append(self.builder.param(name, type_))
        return Value(type_, Var(self.params[-1].name))

    def whole(self, results: Sequence[Value]) -> Function:
        items = tuple(self.builder.atom(each) for each in results)
        result = self.builder.bind(Tuple(items), TupleType(tuple(each.type for each in results)))
        main = Function("main", tuple(self.params), self.builder.body("it", result))
        found = program(Module((*self.builder.functions, main)), "main")
        verify(found)
        return found

    def step(self, index: Value, state: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        """(a, b) becomes (b + x, a - i); rows are a and the number i."""
        a, b = state
        number = self.node.cast(index, FLOAT32)
        after = [self.node.call("add", b, self.x), self.node.call("subtract", a, number)]
        return after, [a, index]


def run(function: Function, *given: Array) -> list[Array]:
    return [np.asarray(each) for each in evaluate(function, list(given))]


X, Y = np.array([1, -2], np.float32), np.array([0.5, 4], np.float32)


def steps(count: int) -> tuple[list[Array], list[Array]]:
    """The last state of `Loop.step` from (x, y) on, and its rows."""
    a, b, rows = X, Y, []
    for number in range(count):
        rows.append(a)
        a, b = b + X, a - np.float32(number)
    stacked = np.array(rows, np.float32).reshape(count, 2)
    return [a, b], [stacked, np.arange(count)]


@pytest.mark.parametrize(
    ("count", "values", "unrolled", "calls"),
    [
        (1, 1, 256, False),
        (5, 1, 256, False),
        (5, 1, 5, False),
        (5, 1, 4, True),
        (4, 1024, 256, False),
        (4, 1025, 256, True),
        (0, 1, 256, True),
    ],
)
def test_a_known_number_of_iterations(count: int, values: int, unrolled: int, calls: bool) -> None:
    it = Loop()
    state, rows = repeat(it.node, count, [it.x, it.y], it.step, values, unrolled)
    wanted = steps(count)
    found = run(it.whole([*state, *rows]), X, Y)
    for one, other in zip(found, [*wanted[0], *wanted[1]], strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert bool(it.builder.functions) == calls


def test_the_number_of_iterations_that_are_unrolled() -> None:
    it = Loop()
    repeat(it.node, 257, [it.x, it.y], it.step, 1)
    assert it.builder.functions
    assert is_short(256, 16)
    assert not is_short(256, 17)
    assert not is_short(257, 1)
    assert is_short(256, 0)
    assert is_short(1, 4096)
    assert not is_short(1, 4097)


@pytest.mark.parametrize("start", [-1.0, 2.0, 5.0, 7.0])
def test_a_loop_ends_by_its_condition_or_its_limit(start: float) -> None:
    """Of at most 3 iterations from a number on while it is under 7, which 2 are added to: rows
    behind the last are zeros."""
    it = Loop()
    number = it.input("number", TensorType((), FLOAT32))
    go = it.input("go", TensorType((), BOOL))
    seven, two = it.node.number(7, number), it.node.number(2, number)

    def step(
        index: Value, condition: Value | None, state: Sequence[Value]
    ) -> tuple[Value | None, Sequence[Value], Sequence[Value]]:
        assert condition is not None
        assert condition.type == TensorType((), BOOL)
        (old,) = state
        new = it.node.call("add", old, two)
        return it.node.call("less", new, seven), [new], [new, index]

    state, rows = collect(it.node, 3, go, [number], step)
    whole = it.whole([*state, *rows])
    for goes in (True, False):
        wanted, more, numbers, indices = np.float32(start), goes, [0.0] * 3, [0] * 3
        for index in range(3):
            if more:
                wanted += np.float32(2)
                numbers[index], indices[index] = float(wanted), index
                more = bool(wanted < 7)
        given = np.array(start, np.float32), np.array(goes)
        last, every, counted = run(whole, X, Y, *given)
        assert last == wanted
        np.testing.assert_array_equal(every, np.array(numbers, np.float32))
        np.testing.assert_array_equal(counted, np.array(indices))


def test_the_text_of_a_loop() -> None:
    """The condition comes before the state, and values around the loop behind it."""
    it = Loop()
    limit, go = it.input("limit", TensorType((), INT64)), it.input("go", TensorType((), BOOL))

    def iteration(
        _: Value, condition: Value | None, state: Sequence[Value]
    ) -> tuple[Value | None, Sequence[Value]]:
        (old,) = state
        return condition, [it.node.call("add", old, it.x)]

    found = loop(it.node, limit, go, [it.y], iteration)
    whole = it.whole(found)
    assert text(whole) == TEXT
    for most, goes, count in ((3, True, 3), (3, False, 0), (0, True, 0), (-1, True, 0)):
        (last,) = run(whole, X, Y, np.array(most), np.array(goes))
        np.testing.assert_array_equal(last, Y + count * X)


TEXT = """\
func @Loop_loop(index: int64[], go_1: bool[], state: float32[2], limit_1: int64[], \
x_1: float32[2]) -> (float32[2],):
  more: bool[] = less(index, limit_1)
  more_1: bool[] = logical_and(go_1, more)
  last_1: (float32[2],) = if more_1:
    loop: float32[2] = add(state, x_1)
    loop_1: int64[] = add(index, int64[](1))
    again_1: (float32[2],) = @Loop_loop(loop_1, go_1, loop, limit_1, x_1)
    yield again_1
  else:
    same_1: (float32[2],) = (state,)
    yield same_1
  return last_1

func @main(x: float32[2], y: float32[2], limit: int64[], go: bool[]):
  it: (float32[2],) = @Loop_loop(int64[](0), go, y, limit, x)
  it_1: float32[2] = it[0]
  it_2: (float32[2],) = (it_1,)
  return it_2
"""


def test_a_loop_without_a_limit() -> None:
    it = Loop()
    go = it.input("go", TensorType((), BOOL))
    ten = it.node.constant(np.array(10))

    def iteration(
        index: Value, _: Value | None, state: Sequence[Value]
    ) -> tuple[Value | None, Sequence[Value]]:
        return it.node.call("less", index, ten), [it.node.call("add", state[0], index)]

    zero = it.node.constant(np.array(0))
    whole = it.whole(loop(it.node, None, go, [zero], iteration))
    assert run(whole, X, Y, np.array(True)) == [sum(range(11))]
    assert run(whole, X, Y, np.array(False)) == [0]


def test_refusals() -> None:
    it = Loop()
    with pytest.raises(UnsupportedError, match=r"node n \(Loop\): .*a loop without an end"):
        loop(it.node, None, None, [it.x], lambda *_: (None, [it.x]))
    it = Loop()
    limit = it.node.constant(np.array(2))
    with pytest.raises(
        UnsupportedError,
        match=r"a value that is float32\[2\] before an iteration of the loop and int64\[\] after",
    ):
        loop(it.node, limit, None, [it.x, it.x], lambda *_: (None, [it.y, limit]))


def test_rows() -> None:
    it = Loop()
    assert stack(it.node, [it.x]).shape == (1, 2)
    three, two = (stack(it.node, each) for each in ([it.x, it.y, it.x], [it.x, it.y]))
    whole = it.whole([three, reversed_rows(it.node, three), reversed_rows(it.node, two)])
    wanted = [X, Y, X], [X, Y, X], [Y, X]
    for found, rows in zip(run(whole, X, Y), wanted, strict=True):
        np.testing.assert_array_equal(found, rows)


def test_a_condition_that_is_known() -> None:
    it = Loop()
    assert known_truth(None) is None
    assert known_truth(it.x) is None
    for truth in (True, False):
        assert known_truth(constant(np.array(truth))) is truth
        assert known_truth(constant(np.array([truth]))) is truth

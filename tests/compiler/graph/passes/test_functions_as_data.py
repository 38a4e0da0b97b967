"""Functions that are values become values of data types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.passes import BindSymbols, LiftFunctions, transform
from tandem.compiler.graph.passes.functions_as_data import FunctionsAsData
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import functions, makes_functions
from tests.compiler.driver.random_closures import programs
from tests.support.compiler.graph.closures import BOXED, CHOSEN, COMPOSED, KEPT, LISTED, STATES
from tests.support.compiler.graph.graphs import becomes, graph, same_values

MOST_VALUES = 1000
"""Programs that compute more are left out: functions that call functions may be slow."""


def lifted(program: str) -> Function:
    return BindSymbols(()).apply(by_name(LiftFunctions().apply(graph(program))))


def test_a_value_is_what_was_made_of_what() -> None:
    """A function by name with its first arguments, or a value with more of them."""
    becomes(
        FunctionsAsData(),
        """
func @madd(a: float32[], b: float32[], x: float32[]) -> float32[]:
  y = multiply(a, x)
  z = add(y, b)
  return z

func @main(c: float32[], x: float32[]) -> float32[]:
  f: fn(float32[], float32[]) -> float32[] = partial @madd(c)
  g = partial f(x)
  y = call g(x)
  z = call f(y, x)
  return z
""",
        """
type Function = madd(float32[])
type Function_1 = more(Function, float32[])

func @madd(a: float32[], b: float32[], x: float32[]) -> float32[]:
  y = multiply(a, x)
  z = add(y, b)
  return z

func @apply(f: Function, x: float32[], x_1: float32[]) -> float32[]:
  y = match f:
    madd(held):
      z = @madd(held, x, x_1)
      yield z
  return y

func @apply_1(f: Function_1, x: float32[]) -> float32[]:
  y = match f:
    more(held, held_1):
      z = @apply(held, held_1, x)
      yield z
  return y

func @main(c: float32[], x: float32[]) -> float32[]:
  f: Function = madd(c)
  g = more(f, x)
  y = @apply_1(g, x)
  z = @apply(f, y, x)
  return z
""",
    )


def test_a_type_without_values_has_one() -> None:
    """As a list that is always empty: what calls its functions is never reached."""
    empty = lifted(
        """
type List[T] = Nil | Cons(T, List[T])

func @run(all: List[fn(int64[]) -> int64[]], x: int64[]) -> int64[]:
  r = match all:
    Nil:
      yield x
    Cons(f, rest):
      y = call f(x)
      t = @run(rest, y)
      yield t
  return r

func @main(x: int64[]) -> int64[]:
  none = Nil[fn(int64[]) -> int64[]]()
  y = @run(none, x)
  return y
"""
    )
    found = transform(empty, [FunctionsAsData()])
    assert "type Function = no_function" in text(found)
    same_values(evaluate(found, [np.array(7)]), np.array(7))


def test_a_data_type_is_written_for_each_use() -> None:
    whole = text(transform(lifted(BOXED), [FunctionsAsData()]))
    assert "type Box = Box(Function) | Both(Box, Box)" in whole
    assert "type Box_1 = Box_1(Function_1) | Both_1(Box_1, Box_1)" in whole


def test_a_program_without_such_values_stays_as_it_is() -> None:
    start = graph("func @main(x: int8[]):\n  y = add(x, x)\n  return y")
    assert FunctionsAsData().apply(start) is start


@pytest.mark.parametrize("program", [CHOSEN, COMPOSED, KEPT, LISTED, BOXED, STATES])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_programs_mean_the_same(program: str, count: int) -> None:
    start = graph(program)
    found = transform(lifted(program), [FunctionsAsData()])
    assert not any(makes_functions(each.body) for each in functions(found))
    values = {
        "n": np.array(count),
        "c": np.array(count, np.float32),
        "x": np.array(3),
        "z": np.ones(3, np.float32),
    }
    if program is CHOSEN:
        values["x"] = values["z"]
    if program is COMPOSED:
        values["x"] = values["c"]
    given_ = [values[param.name] for param in start.params]
    same_values(evaluate(found, given_), evaluate(start, given_))


_numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=3)


@settings(max_examples=5, deadline=None, suppress_health_check=[*HealthCheck])
@given(programs(), st.integers(-1, 3), _numbers, _numbers)
def test_random_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    start = graph(program)
    values = [np.array(measure), np.array(a, np.int32), np.array(b, np.int32)]
    computed = 0

    class TooSlow(Exception):
        pass

    def observe(*_: object) -> None:
        nonlocal computed
        computed += 1
        if computed > MOST_VALUES:
            raise TooSlow

    try:
        wanted = evaluate(start, values, Interpreter(), observe)
    except TooSlow:
        assume(False)
    found = transform(lifted(program), [FunctionsAsData()])
    same_values(evaluate(found, values), wanted)

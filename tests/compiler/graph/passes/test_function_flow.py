"""What each value of a program may be, against lists written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Constant, Function, TensorType
from tandem.compiler.graph.passes import LiftFunctions
from tandem.compiler.graph.passes.function_flow import FlowCall, FunctionFlow
from tandem.compiler.graph.passes.function_sets import (
    AnyFunction,
    EndlessError,
    FunctionSet,
    Held,
    Member,
    function_set,
    given_key,
    held_by,
)
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import FunctionType
from tandem.compiler.ir import FLOAT32, INT64
from tests.support.compiler.graph.closures import COMPOSED, GROWING, STATES
from tests.support.compiler.graph.graphs import graph

TWO = Constant(np.array(2, np.float32))
STEP = FunctionType((TensorType((), INT64),), TensorType((), INT64))

FUNCTIONS = """
func @scale(f: float32[], x: float32[2]) -> float32[2]:
  y = multiply(f, x)
  return y

func @madd(a: float32[], b: float32[], x: float32[2]) -> float32[2]:
  y = multiply(a, x)
  z = add(y, b)
  return z

func @twice(f: fn(float32[2]) -> float32[2], x: float32[2]) -> float32[2]:
  y = call f(x)
  z = call f(y)
  return z
"""

ALL = (
    FUNCTIONS
    + """
func @main(a: float32[], x: float32[2]):
  f = partial @madd(a, a)
  y = @twice(f, x)
  z = @scale(a, y)
  return z
"""
)


def flow_of(
    program: str, *general: str, given: tuple[Held | Constant, ...] | None = None
) -> tuple[FunctionFlow, FlowCall]:
    """What is found from the program's own function on, and its call."""
    whole = by_name(LiftFunctions().apply(graph(program)))
    flow = FunctionFlow(whole.named, frozenset(general))
    entry = flow.call(whole.name, given or tuple(held_by(each.type) for each in whole.params))
    flow.reach(entry)
    return flow, entry


def keys(flow: FunctionFlow) -> dict[str, dict[str, str]]:
    """What each value may be, as text, by the text of its call."""
    return {
        call.key: {name: given_key(held) for name, held in values.items()}
        for call, values in flow.values.items()
    }


def results(flow: FunctionFlow) -> dict[str, str]:
    return {call.key: given_key(held) for call, held in flow.results.items()}


def test_values_of_each_call() -> None:
    """A function by name, with more arguments, of a branch and of a tuple."""
    flow, entry = flow_of(
        FUNCTIONS
        + """
func @main(c: bool[], a: float32[], x: float32[2]):
  f = partial @scale(a)
  g = partial @madd(float32[](2.0))
  h = partial g(a)
  k = if c:
    f_1 = partial @scale(float32[](2.0))
    yield f_1
  else:
    yield h
  p = (x, k)
  q = p[1]
  y = @twice(q, x)
  z = @twice(f, y)
  n = negative(float32[](2.0))
  o = (float32[](2.0), n)
  return q
"""
    )
    two = f"={TWO.digest}"
    many = f"{{madd({two}, float32[]) | scale({two})}}"
    inner = {"x": "float32[2]", "y": "float32[2]"}
    assert keys(flow) == {
        "main(bool[], float32[], float32[2])": {
            "c": "bool[]",
            "a": "float32[]",
            "x": "float32[2]",
            "f": "{scale(float32[])}",
            "g": f"{{madd({two})}}",
            "h": f"{{madd({two}, float32[])}}",
            "f_1": f"{{scale({two})}}",
            "k": many,
            "p": f"(float32[2], {many},)",
            "q": many,
            "y": "float32[2]",
            "z": "float32[2]",
            "n": "float32[]",
            "o": "(float32[], float32[],)",
        },
        f"twice({many}, float32[2])": {"f": many, **inner, "z": "float32[2]"},
        "twice({scale(float32[])}, float32[2])": {
            "f": "{scale(float32[])}",
            **inner,
            "z": "float32[2]",
        },
        f"madd({two}, float32[], float32[2])": {"b": "float32[]", **inner, "z": "float32[2]"},
        f"scale({two}, float32[2])": inner,
        "scale(float32[], float32[2])": {"f": "float32[]", **inner},
    }
    assert given_key(flow.results[entry]) == many
    known = flow.call("scale", (TWO, TensorType((2,), FLOAT32)))
    assert text(Function("scale", (), flow.bodies[known])).splitlines()[1:] == [
        "  y = multiply(float32[](2.0), x)",
        "  return y",
    ]


def test_states_of_a_loop() -> None:
    """A result that depends on itself; both functions of the recursion are run with both."""
    flow, _ = flow_of(STATES)
    down, double = "{up_down()}", "{main_double()}"
    both = {f"{name}(int64[], int64[], {of})" for name in ("up", "next") for of in (down, double)}
    whole = both | {"main(int64[], int64[])", "up_down(int64[])", "main_double(int64[])"}
    assert {*keys(flow)} == whole
    assert {*results(flow).values()} == {"int64[]"}


CHAIN = """
func @one(x: int64[]) -> int64[]:
  return x

func @other(x: int64[]) -> int64[]:
  y = negative(x)
  return y

func @third(x: int64[]) -> int64[]:
  y = add(x, x)
  return y

func @odd(n: int64[]) -> (fn(int64[]) -> int64[], int64[]):
  go = greater(n, int64[](0))
  r = if go:
    t = @even(n)
    yield t
  else:
    f = partial @one()
    p = (f, n)
    yield p
  return r

func @even(n: int64[]) -> (fn(int64[]) -> int64[], int64[]):
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    t = @odd(m)
    yield t
  else:
    g = partial @other()
    q = (g, n)
    yield q
  return r

func @main(n: int64[]) -> fn(int64[]) -> int64[]:
  a = @even(n)
  u = @odd(n)
  h = u[0]
  more = greater(n, int64[](9))
  r = if more:
    yield h
  else:
    k = partial @third()
    yield k
  return r
"""


def test_results_of_a_recursion_are_complete() -> None:
    """Each of two functions gives what the other gives, whichever is run first."""
    both = "({one() | other()}, int64[],)"
    wanted = {
        "main(int64[])": "{one() | other() | third()}",
        "odd(int64[])": both,
        "even(int64[])": both,
    }
    assert results(flow_of(CHAIN)[0]) == wanted


def test_a_value_of_a_field_may_be_any() -> None:
    """And so is what is called of it, and what it is with more arguments."""
    flow, entry = flow_of(
        """
type Box = Box(fn(int64[], int64[]) -> int64[], int64[]) | Empty

func @one(x: int64[], y: int64[]) -> int64[]:
  return y

func @main(b: Box, x: int64[]) -> fn(int64[]) -> int64[]:
  id = partial @one(x)
  e = Empty()
  r = match b:
    Box(f, y):
      z = call f(y, x)
      g = partial f(z)
      yield g
    Empty:
      yield id
  return r
"""
    )
    any_ = "any fn(int64[]) -> int64[]"
    assert {name: given_key(held) for name, held in flow.values[entry].items()} == {
        **{"b": "Box", "x": "int64[]", "id": "{one(int64[])}", "e": "Box"},
        **{"f": "any fn(int64[], int64[]) -> int64[]", "y": "int64[]", "z": "int64[]"},
        **{"g": any_, "r": any_},
    }
    assert given_key(flow.results[entry]) == any_


def test_a_general_function_is_called_with_any() -> None:
    """Of it there is one copy, where copies for what is known have no end."""
    with pytest.raises(EndlessError) as refused:
        flow_of(GROWING)
    assert refused.value.functions == {"grow_g"}
    flow, _ = flow_of(GROWING, "grow_g")
    any_ = "any fn(int64[]) -> int64[]"
    assert {*keys(flow)} == {
        *("main(int64[])", "main_f(int64[])", "grow(int64[], {main_f()})"),
        *(f"grow(int64[], {{grow_g({any_})}})", f"grow_g({any_}, int64[])"),
    }
    member = flow.member("grow_g", (FunctionSet(),))
    assert member == Member("grow_g", (AnyFunction(STEP),))
    assert flow.member("main_f", ()).given == ()


def test_a_branch_of_functions_of_which_one_holds_any() -> None:
    flow, _ = flow_of(COMPOSED, "compose_g")
    any_ = "any fn(float32[]) -> float32[]"
    assert results(flow)[f"compose(int64[], {{compose_g({any_})}})"] == f"{{compose_g({any_})}}"
    assert results(flow)["compose(int64[], {main_double()})"] == any_
    assert results(flow)["main(int64[], float32[])"] == "float32[]"


def test_a_function_of_a_set_as_any() -> None:
    """What it is called with may be anything, but for constants, which are part of it."""
    flow, _ = flow_of(ALL)
    held = flow.member("madd", (TWO, TensorType((), FLOAT32)))
    call = flow.any_call(held)
    assert call.given == (TWO, TensorType((), FLOAT32), TensorType((2,), FLOAT32))
    step = FunctionType((TensorType((2,), FLOAT32),), TensorType((2,), FLOAT32))
    twice = flow.any_call(flow.member("twice", (FunctionSet((held,)),)))
    assert twice.given == (AnyFunction(step), TensorType((2,), FLOAT32))


PASSED = """
func @one(x: int64[]) -> int64[]:
  return x

func @more(f: fn(int64[]) -> int64[], x: int64[]) -> int64[]:
  y = call f(x)
  return y

func @main(f: fn(int64[]) -> int64[]) -> fn(int64[]) -> int64[]:
  return f
"""
OPEN = function_set([Member("one", ()), Member("more", (AnyFunction(STEP),))])


@pytest.mark.parametrize(("runs", "wanted"), [(1, OPEN), (0, AnyFunction(STEP))])
def test_a_result_that_is_found_too_often(
    monkeypatch: pytest.MonkeyPatch, runs: int, wanted: Held
) -> None:
    """It only grows from then on: what holds any function may be any itself."""
    monkeypatch.setattr("tandem.compiler.graph.passes.function_flow.MAX_RUNS", runs)
    flow, entry = flow_of(PASSED, given=(OPEN,))
    assert flow.results[entry] == wanted


def test_a_hundred_combinations_and_no_more() -> None:
    flow, _ = flow_of(ALL)

    def call(number: int) -> FlowCall:
        given = Constant(np.array(number, np.float32))
        return flow.call("scale", (given, TensorType((2,), FLOAT32)))

    for number in range(99):  # and the one of `main`
        flow.reach(call(number))
        flow.reach(call(number))
    last = call(99)
    with pytest.raises(EndlessError, match=r"scale is called with more than 100 comb") as refused:
        flow.reach(last)
    assert refused.value.functions == {"scale"}

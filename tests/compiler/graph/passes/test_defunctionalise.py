"""Functions that are values become what they hold, and calls by name."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Defunctionalise, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import functions, makes_functions
from tests.support.compiler.graph.closures import (
    BOXED,
    CHOSEN,
    COMPOSED,
    GROWING,
    KEPT,
    LISTED,
    STATES,
)
from tests.support.compiler.graph.data_types import LAYERS
from tests.support.compiler.graph.graphs import agree, becomes, graph, same_values
from tests.support.compiler.graph.recursion import COUNT, SUM

SCALE = """
func @scale(f: float32[], x: float32[2]) -> float32[2]:
  y = multiply(f, x)
  return y
"""


def test_a_known_function_is_called_directly() -> None:
    becomes(
        Defunctionalise(),
        SCALE
        + """
func @twice(f: fn(float32[2]) -> float32[2], x: float32[2]) -> float32[2]:
  y = call f(x)
  z = call f(y)
  return z

func @main(c: float32[], x: float32[2]):
  f = partial @scale(c)
  y = @twice(f, x)
  g = partial @scale(float32[](2.0))
  z = @twice(g, y)
  return z
""",
        """
func @twice(f: (float32[],), x: float32[2]) -> float32[2]:
  held = f[0]
  y = @scale(held, x)
  held_1 = f[0]
  z = @scale(held_1, y)
  return z

func @twice_1(f: (), x: float32[2]) -> float32[2]:
  y = @scale_1(x)
  z = @scale_1(y)
  return z

func @scale(f: float32[], x: float32[2]) -> float32[2]:
  y = multiply(f, x)
  return y

func @scale_1(x: float32[2]) -> float32[2]:
  y = multiply(float32[](2.0), x)
  return y

func @main(c: float32[], x: float32[2]):
  f = (c,)
  y = @twice(f, x)
  g = ()
  z = @twice_1(g, y)
  return z
""",
    )


def test_a_function_that_is_chosen_is_a_number_and_what_it_holds() -> None:
    """Those that hold tensors of equal types share a slot; what nothing reads is zeros."""
    becomes(
        Defunctionalise(),
        SCALE
        + """
func @main(c: bool[], a: float32[], x: float32[2]):
  f = if c:
    g = partial @scale(a)
    yield g
  else:
    h = fun(y: float32[2]):
      z = add(x, y)
      u = multiply(z, a)
      yield u
    yield h
  r = call f(x)
  return r
""",
        """
func @main_h(x: float32[2], a: float32[], y: float32[2]) -> float32[2]:
  z = add(x, y)
  u = multiply(z, a)
  return u

func @scale(f: float32[], x: float32[2]) -> float32[2]:
  y = multiply(f, x)
  return y

func @main(c: bool[], a: float32[], x: float32[2]):
  f = if c:
    g = (a,)
    held = g[0]
    function = (int32[](1), float32[2](0.0, 0.0), held)
    yield function
  else:
    h = (x, a)
    held_1 = h[0]
    held_2 = h[1]
    function_1 = (int32[](0), held_1, held_2)
    yield function_1
  which = f[0]
  below = less(which, int32[](1))
  r = if below:
    part = f[1]
    part_1 = f[2]
    case = @main_h(part, part_1, x)
    yield case
  else:
    part_2 = f[2]
    case_1 = @scale(part_2, x)
    yield case_1
  return r
""",
    )


def test_a_set_of_functions_that_hold_functions() -> None:
    """Both have to be told apart: the one that is called, and the one that it holds."""
    start = graph(
        """
func @main(n: int64[], x: float32[2]):
  a = fun(u: float32[2]):
    v = add(u, u)
    yield v
  b = fun(w: float32[2]):
    s = subtract(w, x)
    yield s
  small = less(n, int64[](2))
  odd = greater(n, int64[](0))
  one = if odd:
    yield a
  else:
    yield b
  f = if small:
    g = fun(y: float32[2]):
      z = call one(y)
      t = call one(z)
      yield t
    yield g
  else:
    yield one
  p = (f, x)
  q = p[0]
  r = call q(x)
  return r
"""
    )
    found = transform(start, [Defunctionalise()])
    x = np.array([1, -2], np.float32)
    for n, wanted in ((0, -x), (1, 4 * x), (2, 2 * x)):
        same_values(evaluate(start, [np.array(n), x]), wanted)
        same_values(evaluate(found, [np.array(n), x]), wanted)


@pytest.mark.parametrize("program", [CHOSEN, KEPT, STATES])
def test_programs_mean_the_same(program: str) -> None:
    start = graph(program)
    found = transform(start, [Defunctionalise()])
    assert not any(makes_functions(each.body) for each in functions(found))
    agree(start, found)
    for count in range(7):
        given = [np.array(count), np.array(4)]
        if program is not CHOSEN:
            same_values(evaluate(found, given), evaluate(start, given))


def test_every_state_of_a_loop_is_a_function() -> None:
    """Nothing is decided at run time: each callee is known where it is called."""
    found = transform(graph(STATES), [Defunctionalise()])
    assert {each.name for each in found.definitions} == {
        *("main_double", "up_down"),
        *("up", "up_1"),
        *("next", "next_1"),
    }
    assert "which" not in text(found)
    kept = transform(graph(KEPT), [Defunctionalise()])
    assert "which" in text(kept)


def test_calls_that_end_a_function_still_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the result is one of several functions, of which the callee gives fewer."""
    start = graph(
        """
func @count(n: int64[], x: int64[]) -> fn(int64[]) -> int64[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    odd = less(x, int64[](0))
    s = if odd:
      f = fun(a: int64[]):
        b = add(a, x)
        yield b
      yield f
    else:
      t = @count(m, x)
      yield t
    yield s
  else:
    g = fun(c: int64[]):
      yield c
    yield g
  return r

func @main(n: int64[], x: int64[]):
  f = @count(n, x)
  y = call f(x)
  return y
"""
    )
    found = transform(start, [Defunctionalise()])
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 3)
    for function in (start, found):
        same_values(evaluate(function, [np.array(20), np.array(3)]), np.array(3))
    states = transform(graph(STATES), [Defunctionalise()])
    same_values(evaluate(states, [np.array(20), np.array(0)]), np.array(-19))


def test_programs_without_such_values_stay_as_they_are() -> None:
    for program in (SUM, COUNT):
        start = graph(program)
        assert Defunctionalise().apply(start) is start


def test_functions_that_are_composed_as_often_as_is_known() -> None:
    program = COMPOSED.replace("@main(n: int64[], x", "@main(x")
    found = transform(
        graph(program.replace("@compose(n, double)", "@compose(int64[](5), double)")),
        [Defunctionalise()],
    )
    same_values(evaluate(found, [np.array(1, np.float32)]), np.array(2.0**32, np.float32))


def test_symbols() -> None:
    start = graph(CHOSEN.replace("float32[3]", "float32[K]"))
    found = transform(start, [Defunctionalise()])
    given = [np.array(2), np.array(3, np.float32), np.ones(5, np.float32)]
    same_values(evaluate(found, given), evaluate(start, given))


ENDLESS = """
func @same(f: fn(float32[]) -> float32[]) -> fn(float32[]) -> float32[]:
  r = @same(f)
  return r

func @main(x: float32[]) -> float32[]:
  f = fun(y: float32[]):
    z = add(y, y)
    yield z
  g = @same(f)
  u = call g(x)
  return u
"""

SYMBOLIC = """
func @main(c: bool[], x: float32[N]) -> float32[N]:
  f = if c:
    g = fun(y: float32[N]):
      z = add(y, x)
      yield z
    yield g
  else:
    h = fun(u: float32[N]):
      yield u
    yield h
  r = call f(x)
  return r
"""

TAKES = "func @main(f: fn(int8[]) -> int8[], x: int8[]):\n  y = call f(x)\n  return y"
GIVES = "func @main(x: int8[]):\n  f = fun():\n    yield x\n  return f"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (ENDLESS, "function main: g is no function at all: what gives it never ends"),
        (SYMBOLIC, r"function main: one of several functions holds float32\[N\], and another does"),
        (TAKES, r"function main takes f, which is fn\(int8\[\]\) -> int8\[\]: programs take tens"),
        (GIVES, r"function main gives fn\(\) -> int8\[\]: programs give tensors, and tuples"),
    ],
)
def test_programs_that_are_refused(program: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Defunctionalise().apply(graph(program))


COMPOSED_AS_DATA = """
type Function = main_double | compose_g(Function)

func @compose_g(f: Function, x: float32[]) -> float32[]:
  y = @apply(f, x)
  z = @apply(f, y)
  return z

func @main_double(a: float32[]) -> float32[]:
  b = add(a, a)
  return b

func @compose(n: int64[], f: ()) -> Function:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    function = main_double()
    g = (function,)
    t = @compose_1(m, g)
    yield t
  else:
    function_1 = main_double()
    yield function_1
  return r

func @compose_1(n: int64[], f: (Function,)) -> Function:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    held = f[0]
    function = compose_g(held)
    g = (function,)
    t = @compose_1(m, g)
    yield t
  else:
    held_1 = f[0]
    function_1 = compose_g(held_1)
    yield function_1
  return r

func @apply(f: Function, x: float32[]) -> float32[]:
  y = match f:
    main_double:
      z = @main_double(x)
      yield z
    compose_g(held):
      z_1 = @compose_g(held, x)
      yield z_1
  return y

func @main(n: int64[], x: float32[]) -> float32[]:
  double = ()
  g = @compose(n, double)
  y = @apply(g, x)
  return y
"""


def test_a_recursion_that_composes_functions_makes_data() -> None:
    found = transform(graph(COMPOSED), [Defunctionalise()])
    assert text(found) == COMPOSED_AS_DATA.lstrip()


@pytest.mark.parametrize("program", [COMPOSED, GROWING, LISTED, BOXED])
@pytest.mark.parametrize("count", range(5))
def test_functions_without_a_known_end(program: str, count: int) -> None:
    start = graph(program)
    found = transform(start, [Defunctionalise()])
    assert not any(makes_functions(each.body) for each in functions(found))
    last = {"x": np.array(3), "z": np.ones(3, np.float32)}
    given = [np.array(count), *(last[param.name] for param in start.params[1:])]
    if program is COMPOSED:
        given[1] = np.array(1, np.float32)
    same_values(evaluate(found, given), evaluate(start, given))


def test_functions_without_a_known_end_that_hold_symbols() -> None:
    """The data types have the tensors as parameters."""
    start = graph(
        COMPOSED.replace("float32[]", "float32[N]").replace("b = add(a, a)", "b = add(a, x)")
    )
    found = transform(start, [Defunctionalise()])
    assert "type Function[T] = main_double(T) | compose_g(Function[T])" in text(found)
    given = [np.array(3), np.ones(5, np.float32)]
    same_values(evaluate(found, given), evaluate(start, given))


def test_a_list_of_functions() -> None:
    """Without `Unfold`, which calls the functions of a list that is known."""
    start = graph(LAYERS)
    found = transform(start, [Defunctionalise()])
    assert "type Function = main_bend | main_scale(float32[])" in text(found)
    given = [np.array(3, np.float32), np.array([1, -2], np.float32)]
    same_values(evaluate(found, given), evaluate(start, given))


def test_a_data_type_that_might_hold_functions() -> None:
    """Of which the program makes none: what is left of another, once dead code has gone."""
    start = graph("""
type Steps = Keep | Step(fn(int64[]) -> int64[], Steps)

func @main(x: int64[]) -> int64[]:
  none = Keep()
  y = match none:
    Step(f, rest):
      yield x
    Keep:
      z = add(x, x)
      yield z
  return y
""")
    found = transform(start, [Defunctionalise()])
    assert "type Steps = Keep | Step(Function, Steps)" in text(found)
    same_values(evaluate(found, [np.array(4)]), np.array(8))


def test_only_what_has_no_known_end_is_data() -> None:
    """A function that is known is called directly beside others that are not."""
    program = COMPOSED.replace("return y", "u = call double(y)\n  return u")
    whole = text(transform(graph(program), [Defunctionalise()]))
    assert "u = @main_double(y)" in whole
    assert "y = @apply(g, x)" in whole


def test_more_combinations_than_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.passes.function_flow.MAX_COMBINATIONS", 3)
    start = graph(GROWING)
    found = transform(start, [Defunctionalise()])
    assert {each.name for each in found.definitions} == {"main_f", "grow_g", "grow", "apply"}
    for count in range(5):
        given = [np.array(count)]
        same_values(evaluate(found, given), evaluate(start, given))

"""Bodies without functions that are values: what they give is computed by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Tuple, Var
from tandem.compiler.graph.passes import Defunctionalise, transform
from tandem.compiler.graph.passes.first_order_writer import by_member
from tandem.compiler.graph.passes.function_sets import FunctionSet
from tandem.compiler.graph.passes.slots import Lines
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import functions, makes_functions
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph

NAMED = """
func @scale(f: float32[], x: float32[2]) -> float32[2]:
  y = multiply(f, x)
  return y

func @shift(by: float32[2], x: float32[2]) -> float32[2]:
  y = subtract(x, by)
  return y

func @flip(x: float32[2]) -> float32[2]:
  y = negative(x)
  return y

func @madd(a: float32[], b: float32[2], x: float32[2]) -> float32[2]:
  y = multiply(a, x)
  z = add(y, b)
  return z

func @over(a: float32[], b: float32[2], x: float32[2]) -> float32[2]:
  y = subtract(x, b)
  z = multiply(y, a)
  w = add(z, x)
  return w

func @twice(f: fn(float32[2]) -> float32[2], x: float32[2]) -> float32[2]:
  y = call f(x)
  z = call f(y)
  return z
"""
X = np.array([1, -2], np.float32)
A = np.array(3, np.float32)


def first_order(program: str) -> Function:
    found = transform(graph(program), [Defunctionalise()])
    assert not any(makes_functions(each.body) for each in functions(found))
    return found


def gives(found: Function, count: int, wanted: list[float]) -> None:
    given = [np.array(count), A, X]
    np.testing.assert_array_equal(evaluate(found, given), np.array(wanted, np.float32))


def limits(found: Function) -> list[str]:
    """What the numbers of functions are compared with, in the order of the text."""
    return re.findall(r"less\(which\w*, int32\[\]\((\d+)\)\)", text(found))


ONE_OF_FOUR = """
  first = less(n, int64[](1))
  second = less(n, int64[](2))
  third = less(n, int64[](3))
  w = add(x, float32[](1.0))
  f = if first:
    p = partial @scale(a)
    yield p
  else:
    f_1 = if second:
      q = partial @shift(w)
      yield q
    else:
      f_2 = if third:
        r = partial @scale(float32[](2.0))
        yield r
      else:
        s = partial @flip()
        yield s
      yield f_2
    yield f_1
"""
MAIN = "\nfunc @main(n: int64[], a: float32[], x: float32[2]) -> float32[2]:"


def test_one_of_four_is_found_by_halves() -> None:
    """Flip, the scale by 2, the scale by a and the shift, by the order of their texts."""
    found = first_order(
        NAMED
        + MAIN
        + ONE_OF_FOUR
        + """\
  y = call f(x)
  z = add(y, x)
  return z
"""
    )
    gives(found, 0, [4, -8])
    gives(found, 1, [0, -3])
    gives(found, 2, [3, -6])
    gives(found, 3, [0, 0])
    assert limits(found) == ["2", "1", "3"]
    # A number and two slots, which the shift and the scale by a share with none.
    assert {*re.findall(r"= f\[(\d)\]", text(found))} == {"0", "1", "2"}


def test_three_are_found_by_halves() -> None:
    found = first_order(
        NAMED
        + MAIN
        + ONE_OF_FOUR.replace("partial @scale(float32[](2.0))", "partial @scale(a)")
        + """\
  y = @twice(f, x)
  return y
"""
    )
    gives(found, 0, [9, -18])
    gives(found, 1, [-3, 0])
    gives(found, 2, [9, -18])
    gives(found, 3, [1, -2])
    assert limits(found) == ["1", "2"] * 2


MORE = """
  one = less(n, int64[](1))
  b = add(x, x)
  f: fn(float32[2], float32[2]) -> float32[2] = if one:
    p: fn(float32[2], float32[2]) -> float32[2] = partial @madd(a)
    yield p
  else:
    q = partial @over(float32[](5.0))
    yield q
"""


def test_one_of_two_with_more_arguments() -> None:
    """b + a x or 5 (x - b) + x, whatever f is."""
    found = first_order(
        NAMED
        + MAIN
        + MORE
        + """\
  g: fn(float32[2]) -> float32[2] = partial f(b)
  y: float32[2] = call g(x)
  return y
"""
    )
    gives(found, 0, [5, -10])
    gives(found, 1, [-4, 8])
    whole = text(found)
    assert "fn(" not in whole
    assert "  y: float32[2] = if below" in whole
    assert "  f = if one:" in whole


def test_one_of_two_with_a_known_argument() -> None:
    """What is known is no part of the value: each function has it in its body."""
    found = first_order(
        NAMED
        + MAIN
        + MORE
        + """\
  g = partial f(float32[2](7.0, 8.0))
  y = call g(x)
  h = partial @madd(a)
  k = partial h(float32[2](1.0, 2.0))
  z = call k(y)
  m = call h(z, x)
  return m
"""
    )
    for count, y in enumerate((3 * X + [7, 8], 5 * (X - [7, 8]) + X)):
        z = 3 * y + [1, 2]
        gives(found, count, list(3 * X + z))


def test_functions_in_tuples() -> None:
    """Of one branch each; a constant beside them stays."""
    found = first_order(
        NAMED
        + MAIN
        + """
  one = less(n, int64[](1))
  f = partial @scale(a)
  g = partial @flip()
  t = if one:
    u = (x, f, g)
    yield u
  else:
    v = add(x, x)
    w = (v, g, f)
    yield w
  p = t[0]
  q = t[1]
  r = t[2]
  y = call q(p)
  z = @twice(r, y)
  s = subtract(z, p)
  return s
"""
    )
    gives(found, 0, [2, -4])
    gives(found, 1, [-20, 40])


def test_a_result_before_the_last_value() -> None:
    """It is represented as one of two, whatever is computed behind it."""
    found = first_order(
        NAMED
        + MAIN
        + """
  one = less(n, int64[](1))
  f = if one:
    g = partial @scale(a)
    y = @flip(x)
    yield g
  else:
    h = partial @flip()
    z = @twice(h, x)
    yield h
  r = call f(x)
  return r
"""
    )
    gives(found, 0, [3, -6])
    gives(found, 1, [-1, 2])


CHOICE = """
func @flips() -> fn(float32[2]) -> float32[2]:
  f = partial @flip()
  return f

func @choice(n: int64[], a: float32[]) -> fn(float32[2]) -> float32[2]:
  go = greater(n, int64[](0))
  r = if go:
    t = @flips()
    yield t
  else:
    s = partial @scale(a)
    yield s
  return r
"""


def test_calls_that_end_a_function_still_do() -> None:
    """`flips` gives one of two, as `choice` has to: its result is not changed behind the call."""
    found = first_order(
        NAMED
        + CHOICE
        + MAIN
        + """
  f = @choice(n, a)
  g = @flips()
  y = call f(x)
  z = call g(y)
  return z
"""
    )
    gives(found, 0, [-3, 6])
    gives(found, 1, [1, -2])
    assert re.search(r"  t = @flips\w*\(\)\n    yield t", text(found))
    assert re.search(r"  r = if go:\n(    .*\n)+  else:\n(    .*\n)+  return r\n", text(found))


BOX = "type Box = Box(fn(float32[2], float32[2]) -> float32[2]) | Empty\n"
BOXES = """
func @apply(b: Box, c: float32[2], x: float32[2]) -> float32[2]:
  r = match b:
    Box(f):
      y = call f(c, x)
      g = partial f(y)
      z = call g(x)
      yield z
    Empty:
      yield c
  return r
"""


def test_functions_in_fields() -> None:
    """f(f(2 x, x), x) of the function in the box: b + a x or 5 (x - b) + x."""
    found = first_order(
        BOX
        + NAMED
        + BOXES
        + MAIN
        + MORE
        + """\
  e = Empty()
  d = @apply(e, b, x)
  one_more = Box(f)
  known = partial @madd(float32[](2.0))
  other = Box(known)
  y = @apply(one_more, d, x)
  z = @apply(other, y, x)
  return z
"""
    )

    def madd(a: float, b: Array, x: Array) -> Array:
        return a * x + b

    def over(a: float, b: Array, x: Array) -> Array:
        return (x - b) * a + x

    for count, (function, number) in enumerate(((madd, 3), (over, 5))):
        y = function(number, function(number, X + X, X), X)
        gives(found, count, list(madd(2, madd(2, y, X), X)))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(GraphError, match=r"^f is no function at all: what gives it never ends$"):
        by_member(Var("f"), FunctionSet(), lambda *_: Tuple(()), Lines(set()))
    with pytest.raises(GraphError, match="function main: f is no function at all"):
        first_order(
            """
func @never(n: int64[]) -> fn(int64[]) -> int64[]:
  r = @never(n)
  return r

func @main(n: int64[]) -> int64[]:
  f = @never(n)
  y = call f(n)
  return y
"""
        )

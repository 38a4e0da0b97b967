"""Gradients that a program asks for become functions: their names and text, values by hand, and
what asks for its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import GradientError, GraphError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients.expand import expanded
from tandem.compiler.graph.nodes import Function, Gradient
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets, functions, program
from tests.support.compiler.graph.gradient_texts import GEOMETRIC, SLOPE
from tests.support.compiler.graph.graphs import same_values

CUBE = """
func @cube(x: float64[N], n: int64[], y: float64[N]) -> float64[]:
  a = multiply(x, x)
  b = multiply(a, x)
  c = multiply(b, y)
  l = reduce_sum(c, keepdims=False)
  return l
"""
X, Y, ONE = np.array([1.0, -2.0]), np.array([3.0, 5.0]), np.array(1)


def written(source: str) -> Function:
    """The program of a text, with functions of gradients, by name alone."""
    found = expanded(program(parse(source, OPERATORS), "main"), OPERATORS)
    verify(found)
    assert not any(isinstance(let.value, Gradient) for let in all_lets(found.body))
    return found


def names(whole: Function) -> list[str]:
    return [each.name for each in functions(whole)]


MAIN = """
func @main(x: float64[2], n: int64[], y: float64[2]):
  g: fn(float64[2], int64[], float64[2]) -> RESULT = VALUE
  r = call g(x, n, y)
  return r
"""


@pytest.mark.parametrize(
    ("value", "result", "name", "wanted"),
    [
        ("grad(@cube)", "(float64[2], float64[2])", "cube_grad", (3 * X**2 * Y, X**3)),
        ("grad(@cube, 2)", "(float64[2],)", "cube_grad", (X**3,)),
        ("grad(@cube, 2, 0)", "(float64[2], float64[2])", "cube_grad", (X**3, 3 * X**2 * Y)),
        (
            "value_and_grad(@cube, 0)",
            "(float64[], (float64[2],))",
            "cube_value_and_grad",
            (np.sum(X**3 * Y), (3 * X**2 * Y,)),
        ),
    ],
)
def test_values(value: str, result: str, name: str, wanted: Any) -> None:
    whole = written(CUBE + MAIN.replace("VALUE", value).replace("RESULT", result))
    assert names(whole) == [name, "main"]
    assert f" = @{name}\n" in text(whole)
    same_values(evaluate(whole, [X, ONE, Y]), wanted, 1e-12)


def test_gradients_alone_need_no_value() -> None:
    """What only the value needs is left out."""
    source = """
func @f(x: float64[]) -> float64[]:
  y = multiply(x, float64[](4.0))
  z = add(y, float64[](1.0))
  return z

func @main(x: float64[]):
  g = grad(@f)
  r = call g(x)
  return r
"""
    assert text(written(source)) == ALONE


ALONE = """\
func @f_grad(x: float64[]) -> (float64[],):
  x_gradient = multiply(float64[](1.0), float64[](4.0))
  gradients = (x_gradient,)
  return gradients

func @main(x: float64[]):
  g = @f_grad
  r = call g(x)
  return r
"""


def test_what_is_called_otherwise_stays() -> None:
    """Other values, and names that are taken; a function of two extents has one for each."""
    whole = written(
        CUBE
        + """
func @cube_grad(x: float64[2]) -> float64[2]:
  return x

func @main(x: float64[2], n: int64[], y: float64[3]):
  v = @cube(x, n, x)
  g: fn(float64[2], int64[], float64[2]) -> (float64[2],) = grad(@cube, 0)
  h: fn(float64[3], int64[], float64[3]) -> (float64[3],) = grad(@cube, 0)
  k: fn(float64[2], int64[], float64[2]) -> (float64[2],) = grad(@cube, 0)
  a = call g(x, n, x)
  b = call h(y, n, y)
  c = call k(x, n, x)
  d = @cube_grad(x)
  r = (v, a, b, c, d)
  return r
"""
    )
    assert sorted(names(whole)) == ["cube", "cube_grad", "cube_grad_1", "cube_grad_2", "main"]
    y = np.array([1.0, 2.0, 3.0])
    given = [X, ONE, y]
    wanted = (np.sum(X**4), (3 * X**3,), (3 * y**3,), (3 * X**3,), X)
    same_values(evaluate(whole, given), wanted, 1e-12)


SECOND = f"""{SLOPE}
func @other(x: float64[]) -> float64[]:
  r = @slope(x)
  return r

func @main(x: float64[]) -> (float64[], float64[]):
  h = grad(@other)
  d = call h(x)
  a = d[0]
  g = value_and_grad(@f)
  e = call g(x)
  v = e[0]
  r = (a, v)
  return r
"""


def test_second_derivatives() -> None:
    """Of what calls a function that asks for gradients: those come first."""
    whole = written(SECOND)
    x = 0.7
    second, value = evaluate(whole, [np.array(x)])
    np.testing.assert_allclose(second, 2 * np.cos(x) - x * np.sin(x), rtol=1e-12)
    np.testing.assert_allclose(value, x * np.sin(x), rtol=1e-12)
    assert {*names(whole)} == {"f_value_and_grad", "other_grad", "main"}


LISTS = """
type List = Nil | Cons(float64[], List)

func @total(list: List, x: float64[]) -> float64[]:
  r = match list:
    Nil:
      yield float64[](0.0)
    Cons(head, rest):
      own = multiply(head, x)
      others = @total(rest, x)
      sum = add(own, others)
      yield sum
  return r

func @f(x: float64[], y: float64[]) -> float64[]:
  n = Nil()
  a = Cons(x, n)
  b = Cons(y, a)
  t = @total(b, x)
  return t

func @main(x: float64[], y: float64[]):
  g = grad(@f)
  d = call g(x, y)
  t = (d, x)
  return t
"""


def test_data_types() -> None:
    """Of x (x + y)."""
    found = evaluate(written(LISTS), [np.array(3.0), np.array(5.0)])
    same_values(found, ((np.array(11.0), np.array(3.0)), np.array(3.0)))


LOOP = f"""{GEOMETRIC}
func @f(n: int64[], x: float64[], s: float64[]) -> float64[]:
  t = @loop(n, x, s)
  return t

func @loop_pullback(n: int64[], x: float64[]) -> float64[]:
  t = @loop(n, x, x)
  return t

func @main(n: int64[], x: float64[], s: float64[]):
  g = value_and_grad(@f)
  d = call g(n, x, s)
  p = @loop_pullback(n, x)
  t = (d, p)
  return t
"""


def test_functions_that_a_gradient_needs() -> None:
    """They have names of their own, by which they call themselves, too."""
    whole = written(LOOP)
    # The program's own loop is there beside the one of the gradients.
    wanted = ["f_value_and_grad", "loop", "loop_1", "loop_pullback", "loop_pullback_1", "main"]
    assert sorted(names(whole)) == wanted
    found = evaluate(whole, [np.array(3), np.array(2.0), np.array(5.0)])
    value, x, s = (np.array(each) for each in (2 * 5.0**3, 5.0**3, 3 * 2 * 5.0**2))
    same_values(found, ((value, (x, s)), np.array(2.0**4)))


def test_functions_that_take_data_types_are_refused() -> None:
    """As by `value_and_grad`, also behind other gradients."""
    taken = LISTS.replace(
        "t = (d, x)", "h = grad(@total)\n  n = Nil()\n  e = call h(n, x)\n  t = (d, e)"
    )
    with pytest.raises(
        GraphError, match=r"^function total takes list, which is List: programs take"
    ):
        written(taken)


def test_its_own_gradients_are_refused() -> None:
    source = """
func @f(x: float64[]) -> float64[]:
  y = @g(x)
  return y

func @g(x: float64[]) -> float64[]:
  d: fn(float64[]) -> (float64[],) = grad(@f)
  t = call d(x)
  y = t[0]
  return y

func @main(x: float64[]) -> float64[]:
  y = @g(x)
  return y
"""
    with pytest.raises(GradientError, match=r"^function g is part of its own gradients$"):
        written(source)


def test_a_program_without_gradients_stays() -> None:
    whole = program(parse(CUBE.replace("@cube", "@main"), OPERATORS), "main")
    assert expanded(whole, OPERATORS) is whole

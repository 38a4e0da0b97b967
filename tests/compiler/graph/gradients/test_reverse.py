"""Gradients through every form of value, by hand; and what has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import pullback, value_and_grad
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.graphs import graph

X, Y = np.array(3.0), np.array(5.0)
YES, NO = np.array(True), np.array(False)


def of(program: str, *arrays: Any, wrt: Sequence[str] | None = None) -> list[float]:
    """The gradients of a program's scalar parameters."""
    _, found = evaluate(value_and_grad(graph(program), wrt), list(arrays))
    return [float(np.asarray(each)) for each in found]


def main(body: str, params: str = "x: float64[], y: float64[]", result: str = "z") -> str:
    lines = "\n".join(f"  {line}" for line in body.strip().splitlines())
    return f"func @f({params}) -> float64[]:\n{lines}\n  return {result}\n"


def test_values_that_are_used_twice() -> None:
    assert of(main("a = multiply(x, y)\nz = multiply(a, a)"), X, Y) == [2 * 3 * 25, 2 * 5 * 9]
    assert of(main("z = multiply(x, x)"), X, Y) == [6, 0]
    assert of(main("z = multiply(x, x)", result="y"), X, Y) == [0, 1]
    assert of(main("z = multiply(x, float64[](4.0))"), X, Y, wrt=["x"]) == [4]
    assert of(main("z = multiply(x, y)"), X, Y, wrt=["y", "x"]) == [3, 5]


def test_tuples() -> None:
    body = "t = (x, y, x)\na = t[0]\nb = t[1]\nu = (t, a)\nv = u[0]\nc = v[2]\n"
    assert of(main(body + "p = multiply(a, b)\nz = multiply(p, c)"), X, Y) == [30, 9]
    # Of an operator with several results, of which one is used.
    pair = "s = split(x, sizes=[1, 2])\ns1 = s[1]\nz = reduce_sum(s1, keepdims=False)"
    _, (found,) = evaluate(value_and_grad(graph(main(pair, "x: float64[3]"))), [np.ones(3)])
    assert np.asarray(found).tolist() == [0, 1, 1]


def test_operators_that_depend_on_nothing() -> None:
    clipped = "a = clip(x, min=1.0, max=-1.0)\nz = multiply(a, y)"
    assert of(main(clipped), X, Y) == [0, -1]
    taken = "a = unsqueeze(x, axes=[0])\nb = gather(a, n)\nz = multiply(b, y)"
    params = "n: int64[], x: float64[], y: float64[]"
    assert of(main(taken, params), np.array(0), X, Y) == [5, 3]


def test_parameters_that_are_tuples() -> None:
    program = graph(
        main(
            "a = t[0]\nb = t[1]\nc = b[0]\nz = multiply(a, c)",
            "t: (float64[], (float64[], int8[]), float64[])",
        )
    )
    given = (X, (Y, np.array(1, np.int8)), X)
    _, (found,) = evaluate(value_and_grad(program), [given])
    # Integers have none; what nothing depends on has zeros.
    first, (second,), third = found
    assert [float(np.asarray(each)) for each in (first, second, third)] == [5, 3, 0]


BRANCHES = """
a = multiply(x, x)
r = if c:
  b = multiply(a, y)
  yield b
else:
  d = multiply(a, a)
  yield d
z = multiply(r, x)
"""
PARAMS = "c: bool[], x: float64[], y: float64[]"


def test_branches() -> None:
    # x**3 * y, or x**5.
    assert of(main(BRANCHES, PARAMS), YES, X, Y) == [3 * 9 * 5, 27]
    assert of(main(BRANCHES, PARAMS), NO, X, Y) == [5 * 81, 0]
    one = "r = if c:\n  yield x\nelse:\n  yield float64[](7.0)\nz = multiply(r, y)"
    assert of(main(one, PARAMS), YES, X, Y) == [5, 3]
    assert of(main(one, PARAMS), NO, X, Y) == [0, 7]
    # Neither branch reads what is asked of.
    none = "r = if c:\n  yield y\nelse:\n  yield float64[](7.0)\nz = multiply(r, r)"
    assert of(main(none, PARAMS), YES, X, Y, wrt=["x"]) == [0]
    found = text(value_and_grad(graph(main(none, PARAMS)), ["x"]))
    assert found.count("if c") == 1


def test_branches_within_branches() -> None:
    body = """
r = if c:
  s = if d:
    a = multiply(x, y)
    yield a
  else:
    yield y
  t = (s, x)
  yield t
else:
  u = (x, y)
  yield u
p = r[0]
q = r[1]
z = multiply(p, q)
"""
    params = "c: bool[], d: bool[], x: float64[], y: float64[]"
    # x * y * x, y * x, and x * y.
    assert of(main(body, params), YES, YES, X, Y) == [30, 9]
    assert of(main(body, params), YES, NO, X, Y) == [5, 3]
    assert of(main(body, params), NO, YES, X, Y) == [5, 3]


DATA = """
type Form = Dot | Line(float64[], int8[]) | Box(float64[], (float64[], float64[]), Form)

func @f(c: bool[], x: float64[], y: float64[]) -> float64[]:
  dot = Dot()
  t = (x, y)
  line = Line(y, int8[](1))
  box = if c:
    b = Box(x, t, line)
    yield b
  else:
    yield line
  r = match box:
    Box(h, pair, rest):
      p = pair[1]
      q = multiply(h, p)
      s = match rest:
        Line(w, n):
          v = multiply(q, w)
          yield v
        else:
          yield q
      yield s
    Line(o, n2):
      k = multiply(o, o)
      yield k
    else:
      yield x
  return r
"""


def test_data_types() -> None:
    # x * y * y, and y * y.
    assert of(DATA, YES, X, Y) == [25, 30]
    assert of(DATA, NO, X, Y) == [0, 10]


LOOP = """
func @power(n: int64[], x: float64[], s: float64[]) -> (float64[], float64[], int64[]):
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = multiply(x, s)
    t = @power(m, y, s)
    yield t
  else:
    u = (x, s, n)
    yield u
  return r

func @f(n: int64[], x: float64[], s: float64[]) -> float64[]:
  r = @power(n, x, s)
  a = r[PART]
  return a
"""


def test_calls() -> None:
    # x * s**n.
    for n in (0, 1, 4):
        given = [np.array(n), X, Y]
        slope = n * 3.0 * 5.0 ** (n - 1) if n else 0.0
        assert of(LOOP.replace("PART", "0"), *given) == [5.0**n, slope]
        assert of(LOOP.replace("PART", "0"), *given, wrt=["s"]) == [slope]
        assert of(LOOP.replace("PART", "1"), *given) == [0, 1]


def test_names_say_what_they_are_gradients_of() -> None:
    found = text(value_and_grad(graph(main("a = multiply(x, y)\nz = exp(a)"))))
    assert (
        found
        == """\
func @f_value_and_grad(x: float64[], y: float64[]):
  a = multiply(x, y)
  z = exp(a)
  z_gradient = multiply(float64[](1.0), z)
  x_gradient = multiply(z_gradient, y)
  y_gradient = multiply(z_gradient, x)
  gradients = (x_gradient, y_gradient)
  gradients_1 = (z, gradients)
  return gradients_1
"""
    )


@pytest.mark.parametrize(
    ("body", "params", "message"),
    [
        (
            "a = unsqueeze(x, axes=[0, 1])\nd = determinant(a)\nz = exp(d)",
            "x: float64[]",
            r"function f: d = determinant\(data float64\[1, 1\]\) has no gradient: determinant has "
            "no rule; write d by operators that have one, or keep its operands constant",
        ),
        (
            "p = reduce_prod(x, axes=[0])\nz = reduce_sum(p, keepdims=False)",
            "x: float64[2, N]",
            r"function f: p = reduce_prod\(data float64\[2, N\]\) has no gradient: .*operand of a",
        ),
    ],
)
def test_what_has_none(body: str, params: str, message: str) -> None:
    with pytest.raises(GradientError, match=message):
        value_and_grad(graph(main(body, params)))
    # Without anything before it that gradients are asked of, it needs none.
    fine = main(f"{body}\nw = multiply(z, y)", f"{params}, y: float64[]", "w")
    value_and_grad(graph(fine), ["y"])


def test_pullbacks_take_a_gradient_for_each_float() -> None:
    program = graph(
        "func @f(x: float64[], n: int8[]):\n  a = exp(x)\n  t = (a, n, x)\n  return t\n"
    )
    found = pullback(program)
    types = [str(param.type) for param in found.params]
    assert types == ["float64[]", "int8[]", "float64[]", "float64[]"]
    (gradient,) = evaluate(found, [np.array(0.0), np.array(1, np.int8), X, Y])
    assert float(np.asarray(gradient)) == 8

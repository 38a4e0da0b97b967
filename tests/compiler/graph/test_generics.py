"""Functions of open element types: text, copies and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import GraphError, ParseError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import Defunctionalise, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tests.support.compiler.graph.graphs import agree, graph, same_values

MAP = """\
func @twice[T](f: fn(T[N]) -> T[N], x: T[N]) -> T[N]:
  y = call f(x)
  z: T[N] = call f(y)
  return z

func @compose[T, U, V](f: fn(T[N]) -> U[M], g: fn(U[M]) -> V[K]) -> fn(T[N]) -> V[K]:
  h = fun(x: T[N]) -> V[K]:
    y = call f(x)
    z = call g(y)
    yield z
  return h

func @double[T](x: T[N]) -> T[N]:
  y = add(x, x)
  return y

func @main(a: int8[3], b: float32[2]):
  whole: fn(int8[3]) -> int8[3] = @double
  c = @twice(whole, a)
  real: fn(float32[2]) -> float32[2] = @double
  d = @twice(real, b)
  round = fun(x: float32[2]):
    y = cast(x, to=int32)
    yield y
  both = @compose(real, round)
  e = call both(d)
  z = (c, d, e)
  return z
"""


def test_text_is_read_back() -> None:
    module = parse(MAP, OPERATORS)
    assert text(module) == MAP
    assert parse(text(module), OPERATORS) == module
    assert module.functions[1].elements == ("T", "U", "V")
    assert module.functions[0] != replace(module.functions[0], elements=("T", "U"))


def test_there_is_a_copy_for_each_combination_of_element_types() -> None:
    function = graph(MAP)
    assert [each.name for each in function.definitions] == [
        *("twice_int8", "twice_float32", "compose_float32_float32_int32"),
        *("double_int8", "double_float32"),
    ]
    agree(function, parse_function(text(function), OPERATORS))
    assert str(verify(function)["both"]) == "fn(float32[2]) -> int32[2]"


def test_copies_are_called() -> None:
    a, b = np.array([1, 2, 3], np.int8), np.array([1, 2], np.float32)
    wanted = (a * np.int8(4), b * np.float32(4), (b * np.float32(8)).astype(np.int32))
    for function in (graph(MAP), transform(graph(MAP), [Defunctionalise()])):
        same_values(evaluate(function, [a, b]), wanted)


def test_recursion() -> None:
    function = graph("""
func @power[T](x: T[N], n: int64[]) -> T[N]:
  more = greater(n, int64[](1))
  r = if more:
    m = subtract(n, int64[](1))
    rest = @power(x, m)
    y = multiply(x, rest)
    yield y
  else:
    yield x
  return r

func @main(a: int32[2], b: float32[3], n: int64[]):
  x = @power(a, n)
  y = @power(b, n)
  z = (x, y)
  return z
""")
    assert [each.name for each in function.definitions] == ["power_int32", "power_float32"]
    a, b = np.array([2, 3], np.int32), np.array([1, 2, 3], np.float32)
    wanted = (a * a * a, b * b * b)
    same_values(evaluate(function, [a, b, np.array(3)]), wanted)


ID = "func @id[T](x: T[N]) -> T[N]:\n  return x\n\n"
SAME = "func @same[T](x: T[N], y: T[N]) -> T[N]:\n  return x\n\n"
OPEN = """\
func @none[T](x: int8[]) -> fn(T[]) -> int8[]:
  f = fun(y: T[]):
    yield x
  return f

"""
HALF = "func @half[T](x: T[N]) -> T[N]:\n  y = multiply(x, float32[](0.5))\n  return y\n\n"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            SAME + "func @f(a: int8[2], b: bool[2]):\n  y = @same(a, b)\n  return y",
            r"f: y calls same\(int8\[2\], bool\[2\]\), which is fn\(T\[N\], T\[N\]\) -> T\[N\]",
        ),
        (
            ID + "func @f(a: int8[2]):\n  g = @id\n  return a",
            r"f: g: id is fn\(T\[N\]\) -> T\[N\], with \['N', 'T'\] open: declare the type of g",
        ),
        (
            OPEN + "func @f(a: int8[]):\n  y = @none(a)\n  return a",
            r"f: y: none gives fn\(T\[\]\) -> int8\[\], with \['T'\] open",
        ),
        (
            HALF + "func @f(a: int8[2]):\n  y = @half(a)\n  return y",
            r"half_int8: y = multiply\(...\)",
        ),
        (ID.strip(), "id: T is open: a program's own function has no open element types"),
    ],
)
def test_programs_that_are_refused(program: str, message: str) -> None:
    with pytest.raises(GraphError, match=f"function {message}"):
        parse_function(program, OPERATORS)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("func @f[](x: int8[]):\n  return x", "line 1, column 8: found no name or one twice"),
        ("func @f[T, T](x: T[]):\n  return x", "line 1, column 8: found no name or one twice"),
        ("func @f[int8](x: int8[]):\n  return x", "line 1, column 9: found 'int8', expected the n"),
        ("kernel @f[T](x: T[]):\n  return x", "line 1, column 1: found a kernel with open element"),
        ("func @f[T](x: U[]):\n  return x", "line 1, column 15: found 'U', expected a type"),
        (
            "func @f[T](x: T[]):\n  return x\nfunc @g(x: int8[]):\n  y = @f(x)\n  return y",
            "line 4, column 8: found .f., expected a function with a declared result",
        ),
        ("func @f[T](x: T[2]{0}):\n  return x", "line 1, column 19: found '{', expected"),
    ],
)
def test_texts_that_are_refused(program: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(program, OPERATORS)


def test_programs_have_copies_only() -> None:
    (function,) = parse(ID, OPERATORS).functions
    with pytest.raises(GraphError, match="function id: T is open: programs have no functions of o"):
        verify(function)

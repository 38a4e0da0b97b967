"""From graphs to text and back."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.errors import ParseError
from tandem.compiler.graph import Body, Constant, Function, Module, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import Fuse, InferTypes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import constants
from tests.support.compiler.graph.graphs import graph, graphs

EVERYTHING = """
kernel @half(a: float32[2, 3]) -> float32[2, 3]:
  b = multiply(a, float32[](0.5))
  return b

func @pick(t: (float32[N, 3], (int8[49*N],), ()), c: bool[]):
  a = t[0]
  d: float32[N, 3] = if c:
    e = leaky_relu(a, alpha=-0.0)
    f = if bool[](True):
      yield e
    else:
      yield a
    yield f
  else:
    yield a
  return d

func @main(x: float32[2, 3], y: int8[98]):
  n = ()
  i = (y,)
  t = (x, i, n)
  p = @pick(t, bool[](False))
  h = @half(p)
  g = gelu(h, approximate=tanh)
  k = clip(g, min=-1.5, max=inf)
  d = cast(k, to=float64)
  w = pad(d, pads=[0, -1, 0, 2], mode=edge)
  s = shrink(w, lambd=1e-10, bias=1e+20)
  o = split(s, sizes=[1, 3], axis=1)
  z = (o, float64[2, 2](1.0, -inf, 0.1, -0.0), uint8[0]())
  return z
"""


def test_everything(golden: Callable[[str, str], None]) -> None:
    golden("graph/everything.txt", text(transform(graph(EVERYTHING), [InferTypes()])))


@settings(max_examples=60)
@given(graphs())
def test_text_is_read_back(function: Function) -> None:
    for program in (function, InferTypes().apply(function), Fuse().apply(function)):
        found = parse_function(text(program), OPERATORS, constants(program))
        assert text(found) == text(program)
        assert found == program
        verify(found)


def test_a_module_is_read_back() -> None:
    module = parse(EVERYTHING, OPERATORS)
    for function in module.functions:
        verify(function)
    assert [each.name for each in module.functions] == ["half", "pick", "main"]
    assert parse(text(module), OPERATORS) == module
    # A function is written after all that it calls.
    assert text(module.functions[-1]) != text(Module(module.functions[1:]))


def test_large_constants_and_nan_are_referred_to() -> None:
    for array in (np.arange(9, dtype=np.int8), np.array([1.0, np.nan], np.float32)):
        constant = Constant(array)
        function = Function("f", (), Body((), constant))
        written = text(function)
        assert f"@ h{constant.digest}" in written
        assert parse_function(written, OPERATORS, {constant.digest: constant}) == function
        with pytest.raises(ParseError, match=f"found the constant h{constant.digest}, expected"):
            parse(written, OPERATORS)
        other = Constant(np.zeros(3, np.int16))
        with pytest.raises(ParseError, match=r"expected int16\[3\]: the type of h"):
            parse(written, OPERATORS, {constant.digest: other})


def test_symbols_are_put_in_order() -> None:
    function = graph("func @f(x: float32[M*2*N]): \n  return x".replace("M*2*N", "2*N*M"))
    assert "float32[2*M*N]" in text(function)


HEAD = "func @f(x: float32[2], t: (int8[1], int8[2])):\n"


@pytest.mark.parametrize(
    ("program", "line", "column", "message"),
    [
        ("", 1, 1, "found the end of the text, expected one of func, kernel"),
        ("block @f():", 1, 1, "found 'block', expected one of func, kernel"),
        ("func @if():", 1, 7, "found 'if', expected the function's name"),
        ("func @f(float32: int8[]):", 1, 9, "found 'float32', expected a parameter's name"),
        ("func @f(x: float[1]):", 1, 12, r"found 'float', expected a type, as float32\[2, N\]"),
        ("func @f(x: int8[0*]):", 1, 19, r"found '\]', expected a symbol"),
        ("func @f(x: int8[N.M]):", 1, 17, "a symbol is letters, digits and _"),
        ("func @f(x: int8[]):\n  return x\nfunc @f():\n  return x", 3, 1, "another function @f"),
        (HEAD + "  y = frob(x)\n", 2, 7, "found 'frob', expected an operator that is known"),
        (HEAD + "  y = @g(x)\n", 2, 8, "found 'g', expected a function of this text: @f"),
        (HEAD + "  y = relu(x, alpha=1.0)\n", 2, 15, "found 'alpha', expected one of none"),
        (HEAD + "  y = elu(x, alpha=none)\n", 2, 20, "found 'none', expected a float"),
        (HEAD + "  y = elu(x, alpha=1)\n", 2, 20, "found '1', expected a float"),
        (
            HEAD + "  y = elu(x, alpha=1.0, alpha=2.0)\n",
            2,
            25,
            "found 'alpha', expected one of none",
        ),
        (HEAD + "  y = elu(x, alpha=1.0, x)\n", 2, 25, "found 'x', expected one of none"),
        (HEAD + "  y = concat(x)\n", 2, 15, r"found '\)', expected the attribute axis"),
        (HEAD + "  y = concat(x, axis=True)\n", 2, 22, "found 'True', expected an integer"),
        (HEAD + "  y = cast(x, to=int)\n", 2, 18, "found 'int', expected a type"),
        (HEAD + "  y = gelu(x, approximate=fast)\n", 2, 27, "expected one of none, tanh"),
        (HEAD + "  y = flatten(x, axis=[1])\n", 2, 23, r"found '\[', expected an integer"),
        (HEAD + "  y = conv2d(x, strides=[1.0])\n", 2, 26, "found '1.0', expected an integer"),
        (HEAD + "  y = (x)\n", 2, 9, r"found '\)', expected ','"),
        (HEAD + "  y = t[-1]\n", 2, 9, "found '-', expected the number of a value"),
        (
            HEAD + "  y = relu(int8[2](1))\n",
            2,
            12,
            r"found 1 elements, expected as many as int8\[2\]",
        ),
        (
            HEAD + "  y = relu(int8[N](1))\n",
            2,
            12,
            r"found 1 elements, expected as many as int8\[N\]",
        ),
        (HEAD + "  y = relu(int8[](200))\n", 2, 19, "200 is no int8: -128..127"),
        (HEAD + "  y = relu(int8[](1.5))\n", 2, 19, "found '1.5', expected int8"),
        (HEAD + "  y = relu(int5[](1))\n", 2, 12, "int5 has no array type"),
        (HEAD + "  y = relu(bool[](1))\n", 2, 19, "found '1', expected True or False"),
        (HEAD + "  y = relu(1)\n", 2, 12, "found '1', expected a name or a constant"),
        (
            HEAD + "  y = relu(x)\n",
            3,
            1,
            "found less indentation, expected a value's name, or 'ret",
        ),
        (HEAD + "  return x\n  y = relu(x)\n", 3, 3, "found 'y', expected less indentation"),
        (HEAD + "  y = if x:\n    yield x\n  return y\n", 4, 3, "found 'return', expected 'else'"),
    ],
)
def test_refusals(program: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(program, OPERATORS)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_what_is_nested_too_deeply_is_refused() -> None:
    lines = ["func @f(c: bool[]):"]
    lines += ["  " * (depth + 1) + f"v{depth} = if c:" for depth in range(200)]
    with pytest.raises(ParseError, match="nested more than 160 deep"):
        parse("\n".join(lines), OPERATORS)
    with pytest.raises(ParseError, match="nested more than 160 deep"):
        parse("func @f(c: " + "(" * 500 + "):", OPERATORS)


def test_the_callers_own_depth_is_told_from_a_mistake() -> None:
    """Text that is read with an empty stack, but not below a hundred calls too many."""
    lines = ["func @f(c: bool[]):"]
    lines += ["  " * (depth + 1) + f"v{depth} = if c:" for depth in range(150)]

    def below(calls: int) -> None:
        if calls:
            below(calls - 1)
        else:
            parse("\n".join(lines), OPERATORS)

    with pytest.raises(ParseError, match="expected"):
        below(0)
    with pytest.raises(ParseError, match="nested too deeply for what is left of the stack"):
        below(sys.getrecursionlimit() - len(inspect.stack()) - 100)


def test_names_do_not_look_like_anything_else() -> None:
    for word in ("if", "else", "return", "yield", "func", "kernel", "int8", "bool", "inf", "True"):
        with pytest.raises(ParseError, match=f"found {re.escape(repr(word))}, expected"):
            parse(f"func @f({word}: int8[]):\n  return {word}", OPERATORS)
    for word in ("relu", "none", "h0", "int", "int4x"):
        function = graph(f"func @f({word}: int8[]):\n  return {word}")
        assert function.body.result == Var(word)

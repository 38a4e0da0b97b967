"""The text of each form, to the letter."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from tandem.compiler.graph import (
    Arm,
    Attributes,
    Body,
    Call,
    Constant,
    Function,
    FunctionKind,
    Gradient,
    Let,
    Module,
    Param,
    Partial,
    TensorType,
    Tuple,
    Value,
    Var,
)
from tandem.compiler.graph.nodes import Apply, Construct, Fun, Global, If, Match, TupleGet
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import NO_DECLARATIONS, DataType, FunctionType
from tandem.compiler.ir.dtypes import FLOAT32, INT8

X = TensorType((2,), FLOAT32)
N = TensorType((), INT8)
G = Global("g", FunctionType((X,), X))
x, y = Var("x"), Var("y")


def written(value: Value, type_: TensorType | None = None) -> str:
    """The lines of a value between a function's head and its end."""
    body = Body((Let("v", value, type_),), Var("v"))
    found = text(Function("f", (), body))
    head, end = "func @f():\n", "  return v\n"
    assert found.startswith(head)
    assert found.endswith(end)
    return found.removeprefix(head).removesuffix(end)


INNER = Body((Let("a", Tuple(())),), Var("a"))
PLAIN = Body((), x)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (Tuple(()), "  v = ()\n"),
        (Tuple((x,)), "  v = (x,)\n"),
        (Tuple((x, y)), "  v = (x, y)\n"),
        (TupleGet(x, 3), "  v = x[3]\n"),
        (
            If(x, INNER, PLAIN),
            "  v = if x:\n    a = ()\n    yield a\n  else:\n    yield x\n",
        ),
        (Partial(G), "  v = @g\n"),
        (Partial(G, (x, y)), "  v = partial @g(x, y)\n"),
        (Partial(x, ()), "  v = partial x()\n"),
        (Partial(x, (y,)), "  v = partial x(y)\n"),
        (Gradient(G), "  v = grad(@g)\n"),
        (Gradient(G, (0, 2)), "  v = grad(@g, 0, 2)\n"),
        (Gradient(G, (1,), with_value=True), "  v = value_and_grad(@g, 1)\n"),
        (Apply(x, (y, y)), "  v = call x(y, y)\n"),
        (
            Fun((Param("a", X), Param("b", N)), PLAIN),
            "  v = fun(a: float32[2], b: int8[]):\n    yield x\n",
        ),
        (Fun((), INNER, N), "  v = fun() -> int8[]:\n    a = ()\n    yield a\n"),
        (Construct("Some", NO_DECLARATIONS, (x, y)), "  v = Some(x, y)\n"),
        (Construct("None", NO_DECLARATIONS, (), (X, N)), "  v = None[float32[2], int8[]]()\n"),
        (
            Match(x, (Arm("Some", ("a", "b"), PLAIN), Arm("Nil", (), INNER), Arm(None, (), PLAIN))),
            "  v = match x:\n    Some(a, b):\n      yield x\n    Nil:\n      a = ()\n"
            "      yield a\n    else:\n      yield x\n",
        ),
        (Call(G, (x, y)), "  v = @g(x, y)\n"),
        (Call(Function("h", (), PLAIN), ()), None),
        (Call(OPERATORS["relu"], (x,)), "  v = relu(x)\n"),
    ],
)
def test_values(value: Value, lines: str | None) -> None:
    if lines is None:
        found = text(Function("f", (), Body((Let("v", value),), Var("v"))))
        assert found == "func @h():\n  return x\n\nfunc @f():\n  v = @h()\n  return v\n"
    else:
        assert written(value) == lines
    assert "  v: int8[] = " in text(Function("f", (), Body((Let("v", value, N),), Var("v"))))


def call(name: str, **given: object) -> str:
    spec = OPERATORS[name]
    line = written(Call(spec, (x,), spec.attributes(**given)))
    return line.removeprefix("  v = ").strip()


def test_attributes() -> None:
    # Those that are equal to their defaults are left out, bit for bit.
    assert call("leaky_relu") == "leaky_relu(x)"
    assert call("leaky_relu", alpha=0.01) == "leaky_relu(x)"
    assert call("leaky_relu", alpha=0.0) == "leaky_relu(x, alpha=0.0)"
    assert call("leaky_relu", alpha=-0.0) == "leaky_relu(x, alpha=-0.0)"
    assert call("clip", max=2.5) == "clip(x, max=2.5)"
    assert call("concat", axis=0) == "concat(x, axis=0)"
    assert call("cast", to=INT8) == "cast(x, to=int8)"
    assert call("transpose", perm=(1, 0)) == "transpose(x, perm=[1, 0])"
    assert call("reshape", shape=()) == "reshape(x, shape=[])"
    gelu = OPERATORS["gelu"].attributes
    tanh = parse("func @f(x: int8[]):\n  y = gelu(x, approximate=tanh)\n  return y", OPERATORS)
    (let,) = tanh.functions[0].body.lets
    assert isinstance(let.value, Call)
    assert isinstance(let.value.attributes, gelu)
    assert written(let.value) == "  v = gelu(x, approximate=tanh)\n"


@dataclass(frozen=True, slots=True)
class Axis(Attributes):
    """Attributes of which one may be none, which is not its default."""

    axis: int | None
    flag: bool = False


def test_an_attribute_that_is_none() -> None:
    relu = OPERATORS["relu"]
    assert written(Call(relu, (x,), Axis(None))) == "  v = relu(x, axis=none)\n"
    assert written(Call(relu, (), Axis(-1, True))) == "  v = relu(axis=-1, flag=True)\n"


def constant(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    found = text(Function("f", (), Body((), Constant(array))))
    return found.removeprefix("func @f():\n  return ").strip()


def test_constants() -> None:
    assert constant(np.array([[1, -2]], np.int8)) == "int8[1, 2](1, -2)"
    assert constant(np.array(True)) == "bool[](True)"
    assert constant(np.zeros((0, 3), np.uint8)) == "uint8[0, 3]()"
    assert constant(np.array([0.1, -0.0, np.inf], np.float32)) == "float32[3](0.1, -0.0, inf)"
    # Eight elements are printed, nine are not.
    assert constant(np.arange(8)) == "int64[8](0, 1, 2, 3, 4, 5, 6, 7)"
    for array in (
        np.arange(9),
        np.array([0, np.nan], np.float32),
        np.array([1], np.float16),
        np.array([1], ml_dtypes.bfloat16),
    ):
        one = Constant(array)
        assert constant(array) == f"{one.type} @ h{one.digest}"


def test_heads() -> None:
    body = Body((), x)

    def head(function: Function) -> str:
        return text(function).partition("\n")[0]

    assert head(Function("f", (Param("x", X),), body)) == "func @f(x: float32[2]):"
    assert head(Function("f", (), body, N)) == "func @f() -> int8[]:"
    kernel, stream = FunctionKind.KERNEL, FunctionKind.STREAM
    assert head(Function("f", (), body, None, kernel)) == "kernel @f():"
    assert head(Function("f", (), body, None, kernel, "vta")) == "kernel[vta] @f():"
    assert head(Function("f", (), body, None, kernel, "vta", "t")) == "kernel[vta, t] @f():"
    assert head(Function("f", (), body, None, stream, "vta")) == "stream[vta] @f():"
    assert head(Function("f", (), body, elements=("T", "U"))) == "func @f[T, U]():"


def test_functions_and_data_types_are_apart_by_an_empty_line() -> None:
    program = """\
type A = B | C(int8[])
type D = E(A)

func @g(x: int8[]) -> int8[]:
  return x

func @f(x: int8[]) -> A:
  y = @g(x)
  z = C(y)
  return z
"""
    module = parse(program, OPERATORS)
    assert text(module) == program
    assert text(Module(module.functions)) == program[program.index("func @g") :]
    assert text(Module((), module.declared)) == program[: program.index("\nfunc @g")]
    assert text(Module(())) == ""
    # A function comes after what it calls, and after the data types that it has.
    assert text(module.functions[-1]) == program
    assert DataType("A").name in text(module.functions[-1])

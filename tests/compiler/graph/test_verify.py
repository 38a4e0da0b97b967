"""What is no legal graph, and how that is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import (
    Body,
    Call,
    Constant,
    Function,
    FunctionKind,
    Let,
    Param,
    TensorType,
    Var,
)
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.reductions import Softmax
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir import FLOAT32
from tandem.compiler.te import Tensor
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import EVEN

ELU = OPERATORS["elu"].attributes
HEAD = "func @f(x: float32[N, 3], c: bool[], t: (int8[2], int8[3])):\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = relu(z)\n  return y", "function f: y uses z, which is defined nowhere before"),
        ("y = relu(y)\n  return y", "y uses y, which is defined nowhere before"),
        ("return y", "the result uses y, which is defined nowhere before"),
        (
            "i = if c:\n    a = relu(x)\n    yield a\n  else:\n    yield x\n  return a",
            "the result uses a, which is defined only inside another body",
        ),
        (
            "i = if c:\n    a = relu(x)\n    yield a\n  else:\n    yield a\n  return i",
            "the result uses a, which is defined only inside another body",
        ),
        ("x = relu(x)\n  return x", "two values are called x"),
        (
            "i = if c:\n    a = relu(x)\n    yield a\n  else:\n    a = relu(x)\n    yield x\n"
            "  return i",
            "two values are called a",
        ),
        (
            "y: float32[3] = relu(x)\n  return y",
            r"y is float32\[N, 3\], and is declared as float32\[3\]",
        ),
        ("y = t[2]\n  return y", r"y is t\[2\], and that is \(int8\[2\], int8\[3\]\), of 2 values"),
        ("y = x[0]\n  return y", r"y is a part of x, which is float32\[N, 3\]"),
        (
            "y = relu(t)\n  return y",
            r"y = relu\(...\): x is \(int8\[2\], int8\[3\]\), and has to be",
        ),
        ("y = relu()\n  return y", r"y = relu\(...\): 0 operands, and the operator takes \(x\)"),
        (
            "y = relu(x, x)\n  return y",
            r"y = relu\(...\): 2 operands, and the operator takes \(x\)",
        ),
        (
            "y = dense(x)\n  return y",
            r"1 operands, and the operator takes \(data, weight, bias\?\)",
        ),
        ("y = maximum()\n  return y", r"0 operands, and the operator takes \(x, \.\.\.\)"),
        (
            "y = if x:\n    yield x\n  else:\n    yield x\n  return y",
            r"the condition of y is float32\[N, 3\], and has to be bool\[\]",
        ),
        (
            "y = if c:\n    yield x\n  else:\n    yield c\n  return y",
            r"y is float32\[N, 3\] if the condition holds, else bool\[\]",
        ),
        (
            "y = add(x, float32[2](1.0, 2.0))\n  return y",
            r"y = add\(...\): a float32\[N, 3\], b float32\[2\] do not broadcast: axis -1 has 3",
        ),
    ],
)
def test_refusals(body: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        verify(parse_function(f"{HEAD}  {body}\n", OPERATORS))


CALLEE = "func @g(a: float32[M, 3]) -> float32[M, 3]:\n  b = relu(a)\n  return b\n"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            CALLEE + HEAD + "  y = @g(c)\n  return y",
            r"y calls g\(bool\[\]\), which is fn\(float32\[M, 3\]\) -> float32\[M, 3\]",
        ),
        (CALLEE + HEAD + "  y = @g(x, x)\n  return y", r"y calls g\(float32\[N, 3\], float32"),
        (CALLEE.replace("-> float32[M, 3]", "-> int8[]"), r"the result is float32\[M, 3\], and is"),
        (
            "func @g() -> float32[]:\n  return float32[](1.0)\nfunc @g_1(x: int8[]):\n"
            "  y: int8[] = @g()\n  return y",
            r"function g_1: y is float32\[\], and is declared as int8\[\]",
        ),
        (
            "kernel @k(t: (int8[2],)):\n  a = t[0]\n  return a",
            r"kernel k: parameter t is \(int8\[2\],\), and no tensor",
        ),
        (
            "kernel @k(c: bool[]):\n  a = if c:\n    yield c\n  else:\n    yield c\n  return a",
            "kernel k: a is no operator, no tuple and no part of one",
        ),
        (
            CALLEE + "kernel @k(x: float32[2, 3]):\n  a = @g(x)\n  return a",
            "kernel k: a is no operator, no tuple and no part of one",
        ),
        (
            "kernel @k(x: int8[2]):\n  a = add(x, int8[2](1, 2))\n  return a",
            r"kernel k holds a constant int8\[2\]: those of one element are allowed",
        ),
        (
            "stream[t] @s(x: int8[2]) -> int8[2]:\n  y = relu(x)\n  return y",
            "stream s: y is no call of a kernel for t",
        ),
        (
            "kernel[other] @k(x: int8[2]) -> int8[2]:\n  y = relu(x)\n  return y\n"
            "stream[t] @s(x: int8[2]) -> int8[2]:\n  y = @k(x)\n  return y",
            "stream s: y is no call of a kernel for t",
        ),
    ],
)
def test_functions_and_kernels(program: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        verify(parse_function(program, OPERATORS))


X = TensorType((2,), FLOAT32)


def with_value(call: Call, name: str = "y") -> Function:
    return Function("f", (Param("x", X),), Body((Let(name, call),), Var(name)))


def test_what_no_text_can_say() -> None:
    relu, x = OPERATORS["relu"], (Var("x"),)
    for call, message in (
        (Call(relu, x, ELU()), r"y = relu\(...\): attributes are Elu, not Attributes"),
        (Call(OPERATORS["elu"], x), "attributes are Attributes, not Elu"),
        (Call(OPERATORS["elu"], x, ELU(1)), "alpha is 1, and has to be a float"),
        (Call(OPERATORS["elu"], x, ELU(float("nan"))), "alpha is nan, and has to be a float"),
        (Call(OPERATORS["softmax"], x, Softmax(True)), "axis is True, and has to be an integer"),
        (Call(with_value(Call(relu, x)), x, ELU()), "function f, which takes no attributes"),
    ):
        with pytest.raises(GraphError, match=message):
            verify(replace(with_value(call), name="g"))
    for name in ("", "1", "a.b", "if", "float32", "ä"):
        with pytest.raises(GraphError, match="is no name for a value"):
            verify(with_value(Call(relu, x), name))
        with pytest.raises(GraphError, match="is no name for a function"):
            verify(replace(with_value(Call(relu, x)), name=name))


def test_names_mean_one_thing() -> None:
    relu, x = OPERATORS["relu"], (Var("x"),)
    inner = with_value(Call(relu, x))
    with pytest.raises(GraphError, match="two functions are called f"):
        verify(with_value(Call(inner, x)))
    other = replace(relu, pattern=OPERATORS["softmax"].pattern)
    with pytest.raises(GraphError, match="function g: y calls another relu"):
        verify(
            replace(with_value(Call(other, x)), name="g", body=both(Call(relu, x), Call(other, x)))
        )


def test_a_function_is_defined_once() -> None:
    program = graph(EVEN)
    (even, odd) = program.definitions
    for again, message in (
        (even, "function even is defined twice"),
        (replace(odd, name="even"), "two functions are called even"),
        (replace(odd, name="main"), "two functions are called main"),
    ):
        with pytest.raises(GraphError, match=f"^{message}$"):
            verify(replace(program, definitions=(*program.definitions, again)))


def both(first: Call, second: Call) -> Body:
    return Body((Let("a", first), Let("y", second)), Var("y"))


def test_symbols_of_a_callee_stand_for_the_callers() -> None:
    program = (
        CALLEE
        + "func @f(x: float32[2*N, 3], y: float32[4, 3]):\n  a = @g(x)\n  b = @g(y)\n"
        + "  z = (a, b)\n  return z"
    )
    function = graph(program)
    assert str(result_of(function)) == "(float32[2*N, 3], float32[4, 3])"
    assert str(infer(function)["a"]) == "float32[2*N, 3]"


def test_constants_have_their_types() -> None:
    function = Function("f", (), Body((), Constant(np.zeros((2, 3)))), kind=FunctionKind.FUNC)
    assert str(result_of(function)) == "float64[2, 3]"


def test_a_legal_function_is_looked_at_once() -> None:
    asked: list[str] = []
    relu = OPERATORS["relu"]

    def compute(name: str, given: Sequence[Tensor], attributes: Attributes) -> tuple[Tensor, ...]:
        asked.append(name)
        return relu.compute(name, given, attributes)

    counted, x = replace(relu, compute=compute), (Var("x"),)
    inner = with_value(Call(counted, x), "a")
    outer = replace(with_value(Call(inner, x), "b"), name="g")
    for _ in range(3):
        assert verify(outer) == infer(outer) == {"x": X, "b": X}
        assert verify(inner) == {"x": X, "a": X}
    assert asked == ["a"]
    # Another function, though it calls the same one.
    again = replace(outer, name="h", body=both(Call(inner, x), Call(counted, x)))
    assert verify(again)["y"] == result_of(inner) == X
    assert asked == ["a", "y"]


def test_what_was_found_cannot_be_changed() -> None:
    types = verify(with_value(Call(OPERATORS["relu"], (Var("x"),))))
    with pytest.raises(TypeError, match="does not support item assignment"):
        types["x"] = X  # type: ignore[index]


def test_an_illegal_function_stays_illegal() -> None:
    relu = OPERATORS["relu"]
    wrong = with_value(Call(relu, (Var("z"),)))
    inner = with_value(Call(relu, (Var("x"),)))
    same_name = with_value(Call(inner, (Var("x"),)))
    for function, message in (
        (wrong, "y uses z, which is defined nowhere before"),
        (same_name, "two functions are called f"),
    ):
        infer(inner)  # legal in itself
        for _ in range(2):
            with pytest.raises(GraphError, match=message):
                verify(function)

"""Types of values, form by form, and what inference refuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import (
    Attributes,
    Body,
    Call,
    Constant,
    Dim,
    Function,
    FunctionType,
    Global,
    Gradient,
    If,
    Let,
    Param,
    TensorType,
    TupleGet,
    TupleType,
    Value,
    Var,
)
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8
from tests.support.compiler.graph.graphs import graph

X = TensorType((2,), FLOAT32)
TRUTH = TensorType((), BOOL)


def of(*lets: Let, result: str = "y", params: tuple[Param, ...] = (Param("x", X),)) -> Function:
    return Function("f", params, Body(lets, Var(result)))


PAIR = """\
type Pair[A, B] = Pair(A, B) | Left(A) | Neither

func @loss(a: float32[N], b: (int8[], float32[2]), c: int8[2]) -> (float32[], int8[]):
  s = reduce_sum(a, keepdims=False)
  n = b[0]
  r = (s, n)
  return r

func @scale(a: float32[N], by: float32[M]) -> float32[N]:
  s = reduce_sum(by, keepdims=False)
  r = multiply(a, s)
  return r

"""

TYPED = """\
func @main(x: float32[2], y: int8[3], c: bool[]):
  t = (x, y)
  last = t[1]
  p = Pair(x, y)
  left = Left[float32[2], bool[]](x)
  none = Neither[int8[3], float32[2]]()
  m = match p:
    Pair(a, b):
      yield b
    Left(d):
      yield y
    Neither:
      yield y
  most = match p:
    Left(l):
      yield l
    else:
      yield x
  whole = @loss
  WHOLE
  part = partial @scale(x)
  PART
  rest = partial part(x)
  made = call rest()
  within = fun(z: float32[2], k: int8[3]) -> (int8[3], float32[2]):
    u = (k, z)
    yield u
  first = partial within(x)
  both = call within(x, y)
  r = if c:
    one = relu(x)
    yield one
  else:
    yield x
  return r
"""


def test_the_type_of_each_form() -> None:
    program = TYPED.replace("  PART\n", "").replace("  WHOLE\n", "")
    program = program.replace("part =", "part: fn(float32[2]) -> float32[2] =").replace(
        "whole =",
        "whole: fn(float32[2], (int8[], float32[2]), int8[2]) -> (float32[], int8[]) =",
    )
    types = infer(graph(PAIR + program))
    assert {name: str(type_) for name, type_ in types.items()} == {
        "x": "float32[2]",
        "y": "int8[3]",
        "c": "bool[]",
        "t": "(float32[2], int8[3])",
        "last": "int8[3]",
        "p": "Pair[float32[2], int8[3]]",
        "left": "Pair[float32[2], bool[]]",
        "none": "Pair[int8[3], float32[2]]",
        "m": "int8[3]",
        "a": "float32[2]",
        "b": "int8[3]",
        "most": "float32[2]",
        "l": "float32[2]",
        "d": "float32[2]",
        "whole": "fn(float32[2], (int8[], float32[2]), int8[2]) -> (float32[], int8[])",
        "part": "fn(float32[2]) -> float32[2]",
        "rest": "fn() -> float32[2]",
        "made": "float32[2]",
        "within": "fn(float32[2], int8[3]) -> (int8[3], float32[2])",
        "z": "float32[2]",
        "k": "int8[3]",
        "u": "(int8[3], float32[2])",
        "first": "fn(int8[3]) -> (int8[3], float32[2])",
        "both": "(int8[3], float32[2])",
        "r": "float32[2]",
        "one": "float32[2]",
    }


def test_a_result_that_is_a_constant() -> None:
    seven = Constant(np.array([7], np.int8))
    assert result_of(Function("f", (), Body((), seven))) == TensorType((1,), INT8)
    declared = Function("f", (), Body((), seven), TensorType((2,), INT8))
    with pytest.raises(
        GraphError, match=r"^function f: the result is int8\[1\], and is declared as int8\[2\]$"
    ):
        infer(declared)


def test_types_are_inferred_once_and_calls_are_shared() -> None:
    function = graph(
        "func @g(a: float32[2]):\n  b = relu(a)\n  return b\n\n"
        "func @f(x: float32[2]):\n  y = @g(x)\n  z = relu(y)\n  return z"
    )
    assert infer(function) is infer(function)
    (call,) = [let.value for let in function.body.lets if let.name == "y"]
    assert isinstance(call, Call)
    assert isinstance(call.callee, Function)
    # One look-up of relu for both, by types alone.
    assert len(function.analyses.calls) == 1
    assert call.callee.analyses.calls is function.analyses.calls
    assert call.callee.analyses.types is not None


GRADIENTS = """\
func @loss(a: float32[N], b: (int8[], float16[2], (int8[],)), c: int8[2]) -> (float32[], int8[]):
  s = reduce_sum(a, keepdims=False)
  n = b[0]
  r = (s, n)
  return r

func @f(x: float32[2]):
  g: fn(float32[3], (int8[], float16[2], (int8[],)), int8[2]) -> RESULT = FORM
  return x
"""


@pytest.mark.parametrize(
    ("form", "result"),
    [
        ("grad(@loss)", "(float32[3], (float32[2],))"),
        ("grad(@loss, 1)", "((float32[2],),)"),
        ("grad(@loss, 1, 0)", "((float32[2],), float32[3])"),
        ("value_and_grad(@loss, 0)", "((float32[], int8[]), (float32[3],))"),
    ],
)
def test_functions_of_gradients(form: str, result: str) -> None:
    module = parse(GRADIENTS.replace("FORM", form).replace("RESULT", result), OPERATORS)
    assert str(infer(module.functions[-1])["g"]).endswith(f" -> {result}")


def grad_of(
    type_: FunctionType, wrt: tuple[int, ...] = (), declared: FunctionType | None = None
) -> Function:
    return of(Let("y", Gradient(Global("g", type_), wrt), declared))


SCALAR = TensorType((), FLOAT32)


@pytest.mark.parametrize(
    ("params", "result", "wrt", "message"),
    [
        (
            (X,),
            X,
            (),
            r"y takes gradients of g, which gives float32\[2\]: gradients are of a float scalar, "
            "or of the first item of a tuple",
        ),
        ((X,), TensorType((), INT8), (), r"which gives int8\[\]: gradients are of a float scalar"),
        ((X,), TupleType(()), (), r"which gives \(\): gradients are of a float scalar"),
        (
            (X,),
            TupleType((TensorType((), INT8), SCALAR)),
            (),
            r"which gives \(int8\[\], float32\[\]\): gradients are of a float scalar",
        ),
        ((X,), SCALAR, (1,), "y takes gradients of g by parameter 1, and it has 1, from 0 on"),
        ((X,), SCALAR, (-1,), "by parameter -1, and it has 1, from 0 on"),
        (
            (X, TRUTH),
            SCALAR,
            (0, 1),
            r"by parameter 1, which is bool\[\]: gradients are of floats, in tensors and in tuples",
        ),
        ((X,), SCALAR, (0, 0), "y takes gradients of g by a parameter twice$"),
        ((TRUTH,), SCALAR, (), "y takes gradients of g by no parameter with floats$"),
        (
            (TensorType((Dim(("N",)),), FLOAT32),),
            SCALAR,
            (),
            r"y takes gradients of g, with \['N'\] open: declare the type of y",
        ),
    ],
)
def test_gradients_that_are_refused(
    params: tuple[TensorType, ...],
    result: TensorType | TupleType,
    wrt: tuple[int, ...],
    message: str,
) -> None:
    with pytest.raises(GraphError, match=f"function f: .*{message}"):
        infer(grad_of(FunctionType(params, result), wrt))


def test_the_declared_type_of_a_gradient_has_to_fit() -> None:
    type_ = FunctionType((X,), SCALAR)
    assert str(infer(grad_of(type_))["y"]) == "fn(float32[2]) -> (float32[2],)"
    with pytest.raises(
        GraphError,
        match=r"y takes gradients of g\(bool\[\]\), which is fn\(float32\[2\]\) -> float32\[\]",
    ):
        infer(grad_of(type_, (), FunctionType((TRUTH,), SCALAR)))
    # With another number of parameters it says nothing of symbols, and differs.
    with pytest.raises(GraphError, match="and is declared as fn"):
        infer(grad_of(type_, (), FunctionType((X, X), SCALAR)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z = relu(q)", "z uses q, which is defined nowhere before"),
        ("z = x[0]", r"z is a part of x, which is float32\[2\]"),
        (
            "t = (x,)\n  z = t[1]",
            r"z is t\[1\], and that is \(float32\[2\],\), of 1 values",
        ),
        (
            "z = if x:\n    yield x\n  else:\n    yield x",
            r"the condition of z is float32\[2\], and has to be bool\[\]",
        ),
        (
            "z = if c:\n    yield x\n  else:\n    yield c",
            r"z is float32\[2\] if the condition holds, else bool\[\]",
        ),
        (
            "z = if c:\n    i = relu(x)\n    yield i\n  else:\n    yield x\n  w = relu(i)",
            "w uses i, which is defined only inside another body",
        ),
        ("z: int8[] = relu(x)", r"z is float32\[2\], and is declared as int8\[\]"),
        ("z = call x()", r"z calls x, which is float32\[2\] and no function"),
        ("z = partial x()", r"z calls x, which is float32\[2\] and no function"),
        (
            "g = partial @scale(x)",
            r"g: scale is fn\(float32\[M\]\) -> float32\[N\], with \['M'\] open: declare the type",
        ),
        (
            "g = partial @scale(c)",
            r"g takes scale\(bool\[\]\), which is fn\(float32\[N\], float32\[M\]\) -> float32\[N\]",
        ),
        (
            "g: fn(float32[3]) -> float32[3] = partial @scale(x)",
            r"g takes scale\(float32\[2\]\), which is fn\(float32\[N\], float32\[M\]\)",
        ),
        (
            "g: fn(float32[3]) -> float32[2] = partial @scale(x)\n  z = call g(x)",
            r"z gives arguments to g\(float32\[2\]\), which is fn\(float32\[3\]\) -> float32\[2\]",
        ),
        (
            "g: fn(float32[3]) -> float32[2] = partial @scale(x)\n  z = call g()",
            r"z calls g\(\), which is fn\(float32\[3\]\) -> float32\[2\]",
        ),
        (
            "g: fn(float32[3]) -> float32[2] = partial @scale(x)\n  z = partial g(x)",
            r"z gives arguments to g\(float32\[2\]\), which is fn\(float32\[3\]\)",
        ),
        ("z = @scale(x)", r"z calls scale\(float32\[2\]\), which is fn\(float32\[N\], float32\[M"),
        (
            "z = fun(k: int8[]) -> int8[2]:\n    yield k",
            r"the result of z is int8\[\], and is declared as int8\[2\]",
        ),
        ("z = match x:\n    else:\n      yield x", r"z matches x, which is float32\[2\] and no da"),
        ("z = Pair[int8[]](x, x)", "z gives Pair 1 types, and Pair takes 2"),
        (
            "z = Left(x)",
            r"z: Left\(float32\[2\]\) leaves B of Pair open: say the types, as "
            r"Left\[float32\[\], float32\[\]\]",
        ),
        (
            "z = Left[int8[], int8[]](x)",
            r"z calls Left\(float32\[2\]\), which is Left\(int8\[\]\)",
        ),
        ("z = Left(x, x)", r"z calls Left\(float32\[2\], float32\[2\]\), which is Left\(A\)"),
    ],
)
def test_programs_that_are_refused(line: str, message: str) -> None:
    head = "func @main(x: float32[2], c: bool[], n: int8[]):\n"
    function = parse_function(f"{PAIR}{head}  {line}\n  return x", OPERATORS)
    with pytest.raises(GraphError, match=f"^function main: {message}"):
        infer(function)


@dataclass(frozen=True, slots=True)
class Other(Attributes):
    """Attributes of no operator."""

    axis: int = 0


def test_what_no_text_can_say() -> None:
    inner = Function("g", (Param("a", X),), Body((), Var("a")))
    relu = OPERATORS["relu"]
    refused: list[tuple[Value, str]] = [
        (Call(inner, (Var("x"),), Other()), "y calls function g, which takes no attributes"),
        (
            Call(Global("g", FunctionType((X,), X)), (Var("x"),), Other()),
            "y calls function g, which takes no attributes",
        ),
        (Call(relu, (Var("x"),), Other()), r"y = relu\(...\): attributes are Other, not Attrib"),
        (TupleGet(Var("t"), -1), r"y is t\[-1\], and that is \(float32\[2\],\), of 1 values"),
    ]
    params = (Param("x", X), Param("t", TupleType((X,))))
    for value, message in refused:
        with pytest.raises(GraphError, match=f"^function f: {message}"):
            infer(of(Let("y", value), params=params))
    assert infer(of(Let("y", TupleGet(Var("t"), 0)), params=params))["y"] == X


@pytest.mark.parametrize("result", ["float32[N]", "fn(float32[N]) -> float32[N]"])
def test_what_a_call_leaves_open(result: str) -> None:
    program = f"func @fill(n: int8[]) -> {result}:\n  r = @fill(n)\n  return r\n"
    with pytest.raises(GraphError, match=r"^function fill: r: fill gives .*, with \['N'\] open$"):
        infer(parse_function(program, OPERATORS))


def nested(depth: int) -> Function:
    """A function whose bodies are so deep, its own included."""
    body = Body((), Var("x"))
    for at in range(depth - 1):
        body = Body((Let(f"y{at}", If(Var("c"), body, Body((), Var("x")))),), Var(f"y{at}"))
    return Function("f", (Param("x", X), Param("c", TRUTH)), body)


def test_bodies_are_nested_only_so_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.infer.MAX_DEPTH", 3)
    assert result_of(nested(3)) == X
    with pytest.raises(GraphError, match=r"^function f: nested more than 3 deep$"):
        infer(nested(4))
    inner = "func @f(x: int8[]):\n  FUN\n  return x"
    for depth in (2, 3):
        lines = [f"{'  ' * at}f{at} = fun(a{at}: int8[]):" for at in range(depth)]
        lines += [f"{'  ' * (at + 1)}yield a{at}" for at in reversed(range(depth))]
        function = parse_function(inner.replace("FUN", "\n  ".join(lines)), OPERATORS)
        if depth == 2:
            assert str(infer(function)["f0"]) == "fn(int8[]) -> int8[]"
        else:
            with pytest.raises(GraphError, match="nested more than 3 deep"):
                infer(function)


def test_arms_are_nested_too(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "type A = B\n\nfunc @f(a: A, x: int8[]):\n  m = match a:\n    B:\n      yield x\n  return m"
    )
    monkeypatch.setattr("tandem.compiler.graph.infer.MAX_DEPTH", 2)
    assert infer(parse_function(program, OPERATORS))["m"] == TensorType((), INT8)
    monkeypatch.setattr("tandem.compiler.graph.infer.MAX_DEPTH", 1)
    with pytest.raises(GraphError, match="nested more than 1 deep"):
        infer(parse_function(program, OPERATORS))

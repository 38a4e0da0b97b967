"""Types of gradients of data types: their declarations, to the letter, and what is refused."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import GradientError
from tandem.compiler.graph import DataType, FunctionType, TensorType, TupleType
from tandem.compiler.graph.gradients.data_gradients import (
    gradient_form,
    gradient_of,
    gradient_types,
    with_data_gradients,
    zero_form,
)
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir.dtypes import FLOAT32, INT8, dtype_of
from tests.support.compiler.graph.graphs import graph

F, WHOLE = TensorType((2,), FLOAT32), TensorType((), INT8)

PROGRAM = """\
type Count = None | One(int8[])
type Pair[A] = Pair(A, Count)
type List[T] = Nil | Cons(T, List[T])
type Shape = Dot(int8[]) | Both((float16[3], (int8[], float32[])), Shape)

func @f(x: float32[2], s: Shape, n: int8[]):
  c = One(n)
  p = Pair(x, c)
  l = Nil[float32[2]]()
  m = Cons(x, l)
  k = Nil[int8[]]()
  r = match s:
    Dot(i):
      yield x
    Both(pair, more):
      yield x
  t = (p, m, k, r)
  return r
"""

DECLARED = """\
type Pair_float32_2_gradient = Zero_Pair_float32_2_gradient | \
Pair_Pair_float32_2_gradient(float32[2])
type List_float32_2_gradient = Zero_List_float32_2_gradient | \
Cons_List_float32_2_gradient(float32[2], List_float32_2_gradient)
type Shape_gradient = Zero_Shape_gradient | \
Both_Shape_gradient(float32[3], float32[], Shape_gradient)
"""


def test_declarations() -> None:
    found = text(with_data_gradients(graph(PROGRAM)))
    head, _, body = found.partition("\n\n")
    before, _, rest = PROGRAM.partition("\n\n")
    assert body == rest
    lines = head.splitlines()
    assert lines[:4] == before.splitlines()
    assert sorted(lines[4:]) == sorted(DECLARED.splitlines())


def test_types_of_gradients() -> None:
    program = with_data_gradients(graph(PROGRAM))
    types = infer(program)
    shape, count, pairs, whole = (types[name] for name in ("s", "c", "p", "k"))
    assert isinstance(shape, DataType)
    gradient = gradient_of(shape)
    assert gradient is not None
    assert (gradient.name, gradient.arguments) == ("Shape_gradient", ())
    assert zero_form(gradient) == "Zero_Shape_gradient"
    form = gradient_form(gradient, "Both")
    assert form is not None
    assert [str(each) for each in form.fields] == ["float32[3]", "float32[]", "Shape_gradient"]
    assert gradient_form(gradient, "Dot") is None
    for type_ in (count, whole):
        assert isinstance(type_, DataType)
        assert gradient_of(type_) is None
        assert gradient_types(type_) == ()
    assert gradient_of(DataType("Shape")) is None
    assert gradient_types(shape) == (gradient,)
    half = TensorType((2,), dtype_of("float16"))
    nested = TupleType((F, WHOLE, TupleType((shape, half)), pairs))
    assert [str(each) for each in gradient_types(nested)] == [
        *("float32[2]", "Shape_gradient", "float32[2]", "Pair_float32_2_gradient")
    ]
    assert gradient_types(FunctionType((F,), F)) == ()


def test_programs_without_data_types_stay() -> None:
    program = graph("func @f(x: float32[2]):\n  y = relu(x)\n  return y")
    assert with_data_gradients(program) is program


def test_twice_is_once() -> None:
    once = with_data_gradients(graph(PROGRAM))
    assert with_data_gradients(once) == once


def test_every_form_has_the_new_declarations() -> None:
    program = graph("""
type Box = Box(float32[2]) | Empty

func @g(a: Box) -> Box:
  r = @g(a)
  return r

func @loss(x: float32[2], b: Box) -> float32[]:
  s = reduce_sum(x, keepdims=False)
  return s

func @main(b: Box, x: float32[2]) -> Box:
  f = fun(c: Box) -> Box:
    yield c
  p = partial @g(b)
  q: fn(Box) -> Box = @g
  t: (Box, float32[2]) = (b, x)
  a = call f(b)
  d = @g(a)
  e = Box(x)
  return e
""")
    changed = with_data_gradients(program)
    verify(changed)
    assert "type Box_gradient = Zero_Box_gradient | Box_Box_gradient(float32[2])\n" in text(changed)
    assert text(changed).replace(
        "type Box_gradient = Zero_Box_gradient | Box_Box_gradient(float32[2])\n", ""
    ) == text(program)


@pytest.mark.parametrize(
    ("declarations", "body", "message"),
    [
        (
            "type A = B(float32[])\ntype A_gradient = C(float32[])",
            "y = B(x)",
            "function f: a type A_gradient is declared, and gradients need another of that name",
        ),
        (
            "type A[T] = B(T)\ntype A_float32 = C(float32[])",
            "y = B(x)\n  z = C(x)",
            "function f: gradients of two types would be called A_float32_gradient; give one of",
        ),
    ],
)
def test_names_that_are_taken(declarations: str, body: str, message: str) -> None:
    program = f"{declarations}\n\nfunc @f(x: float32[]):\n  {body}\n  return x\n"
    with pytest.raises(GradientError, match=message):
        with_data_gradients(graph(program))


def test_symbols() -> None:
    program = "type A[T] = B(T)\n\nfunc @f(x: float32[N]):\n  y = B(x)\n  return x\n"
    with pytest.raises(
        GradientError, match=r"A\[float32\[N\]\] has extents that are symbols, of wh"
    ):
        with_data_gradients(graph(program))

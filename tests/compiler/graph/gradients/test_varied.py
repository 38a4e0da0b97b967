"""Which values depend on others, of floats."""

from __future__ import annotations

import pytest

from tandem.compiler.graph import DataType, FunctionType, TensorType, TupleType
from tandem.compiler.graph.gradients.data_gradients import with_data_gradients
from tandem.compiler.graph.gradients.varied import may_vary, varied_names
from tandem.compiler.graph.infer import infer
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, dtype_of
from tests.support.compiler.graph.graphs import graph

F, WHOLE = TensorType((2,), FLOAT32), TensorType((), INT8)


def test_what_holds_floats() -> None:
    assert may_vary(F)
    assert may_vary(TensorType((), dtype_of("float16")))
    assert may_vary(TupleType((WHOLE, TupleType((F,)))))
    for type_ in (WHOLE, TensorType((), BOOL), TupleType(()), TupleType((WHOLE,))):
        assert not may_vary(type_)


PROGRAM = """
func @f(x: float32[2], y: float32[2], c: bool[], n: int8[2]):
  a = relu(x)
  b = relu(y)
  both = add(a, b)
  t = (n, b)
  u = (a, n)
  v = u[0]
  w = u[1]
  kept = stop_gradient(x)
  after = relu(kept)
  steps = floor(x)
  whole = cast(x, to=int8)
  back = cast(whole, to=float32)
  less = less(x, y)
  one = float32[2](1.0, 2.0)
  r = if c:
    inner = relu(x)
    yield y
  else:
    other = relu(y)
    yield y
  s = if c:
    deep = relu(a)
    yield deep
  else:
    yield y
  z = (r, s)
  return z
""".replace("  one = float32[2](1.0, 2.0)\n", "")


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        (["x"], {"x", "a", "both", "u", "v", "inner", "deep", "s", "z"}),
        (["y"], {"y", "b", "both", "t", "other", "r", "s", "z"}),
        # Of integers what holds floats has a part: its other items count too.
        (["n"], {"n", "t", "u", "v"}),
        (["v"], {"v"}),
        ([], set()),
    ],
)
def test_names(start: list[str], wanted: set[str]) -> None:
    function = graph(PROGRAM)
    found = varied_names(function.body, start, infer(function))
    assert found == wanted


TREE = """
type Pair = Pair(float32[], int8[])

func @f(x: float32[], n: int8[], c: bool[]):
  p = Pair(x, n)
  q = match p:
    Pair(a, k):
      b = relu(a)
      yield n
  r = match p:
    Pair(d, l):
      yield d
  z = (q, r)
  return z
"""


def test_fields_of_what_varies() -> None:
    function = with_data_gradients(graph(TREE))
    found = varied_names(function.body, ["x"], infer(function))
    assert found == {"x", "p", "a", "b", "d", "r", "z"}
    assert varied_names(function.body, ["n"], infer(function)) >= {"n", "p"}
    types = infer(function)
    assert isinstance(types["p"], DataType)
    assert may_vary(types["p"])
    assert not may_vary(FunctionType((WHOLE,), WHOLE))

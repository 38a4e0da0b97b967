"""Data types in place of types of functions: declarations, to the letter."""

from __future__ import annotations

from tandem.compiler.graph import Dim, Function, FunctionType, Global, TensorType, TupleType
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Partial
from tandem.compiler.graph.passes.function_data import (
    FunctionData,
    fields_of,
    function_data,
    origin_of,
)
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.ir.dtypes import FLOAT32
from tests.support.compiler.graph.graphs import graph

PROGRAM = """
type Kept = Kept(int8[])
type Holds = Holds(fn(float32[]) -> float32[], int8[]) | Empty
type Outer = Outer((Holds, int8[]))
type List[T] = Nil | Cons(T, List[T])

func @madd(a: float32[], b: float32[], x: float32[]) -> float32[]:
  y = multiply(a, x)
  z = add(y, b)
  return z

func @more(x: float32[N], i: int8[]) -> int8[]:
  return i

func @main(c: float32[], x: float32[], v: float32[N], i: int8[]) -> float32[]:
  f: fn(float32[], float32[]) -> float32[] = partial @madd(c)
  g = partial f(x)
  h = partial @madd(c, x)
  k: fn(int8[]) -> int8[] = partial @more(v)
  e = Holds(g, i)
  o = (e, i)
  p = Outer(o)
  l = Nil[fn(float32[]) -> float32[]]()
  q = Kept(i)
  z = call h(x)
  return z
"""


def data() -> tuple[Function, FunctionData]:
    program = graph(PROGRAM)
    return program, function_data(program)


def test_declarations() -> None:
    _, found = data()
    assert found.declared is not None
    # The tensor with a symbol that `more` holds is a parameter of all.
    assert [str(each) for each in found.declared.types] == [
        "type Kept = Kept(int8[])",
        "type List[T] = Nil | Cons(T, List[T])",
        "type Function[T] = madd(float32[])",
        "type Function_1[T] = more(Function[T], float32[]) | madd_1(float32[], float32[])",
        "type Function_2[T] = more_1(T)",
        "type Holds[T] = Holds(Function_1[T], int8[]) | Empty",
        "type Outer[T] = Outer((Holds[T], int8[]))",
    ]


def test_types() -> None:
    program, found = data()
    types = infer(program)
    shown = {name: str(found.of(types[name])) for name in ("f", "g", "k", "e", "p", "l", "q", "o")}
    assert shown == {
        "f": "Function[float32[N]]",
        "g": "Function_1[float32[N]]",
        "k": "Function_2[float32[N]]",
        "e": "Holds[float32[N]]",
        "p": "Outer[float32[N]]",
        "l": "List[Function_1[float32[N]]]",
        "q": "Kept",
        "o": "(Holds[float32[N]], int8[])",
    }
    row = TensorType((Dim(("N",)),), FLOAT32)
    assert found.of(row) == row
    whole = types["g"]
    assert isinstance(whole, FunctionType)
    assert str(found.function(whole)) == "fn(float32[]) -> float32[]"
    applier = found.applier(whole)
    assert applier.name == "apply_1"
    assert str(applier.type) == "fn(Function_1[float32[N]], float32[]) -> float32[]"


def test_what_values_are_made_of() -> None:
    program, _ = data()
    types = infer(program)
    values = {let.name: let.value for let in all_lets(program.body)}
    origins = {
        name: origin_of(value, types)
        for name, value in values.items()
        if isinstance(value, Partial)
    }
    assert [origins[name][1] for name in "fghk"] == [1, 2, 2, 1]
    callee, _ = origins["f"]
    assert isinstance(callee, Global)
    assert callee.name == "madd"
    assert origins["g"][0] == types["f"]
    assert str(TupleType(fields_of(origins["f"]))) == "(float32[],)"
    assert str(TupleType(fields_of(origins["h"]))) == "(float32[], float32[])"
    # The value itself, and its first argument.
    fields = fields_of(origins["g"])
    assert fields == (types["f"], TensorType((), FLOAT32))

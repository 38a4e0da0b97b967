"""What is known is computed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Constant, Function, TensorType
from tandem.compiler.graph.evaluate import Interpreter, Runner
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.passes import EliminateDead, FoldConstants, transform
from tandem.compiler.graph.visit import all_lets, atoms
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.graph.graphs import agree, becomes, graph, graphs, inputs, keeps_meaning

PROGRAM = """
kernel @twice(p0: int32[2]):
  a = add(p0, p0)
  return a

func @f(x: int32[3], c: bool[]):
  a = add(int32[3](1, 2, 3), int32[](10))
  b = multiply(x, a)
  s = split(a, sizes=[1, 2])
  d = s[1]
  e = @twice(d)
  t = (e, a)
  g = t[0]
  h = less(int32[](1), int32[](2))
  i = if h:
    j = add(b, x)
    yield j
  else:
    k = negative(x)
    yield k
  l = if c:
    m = negative(int32[3](1, 2, 3))
    yield m
  else:
    yield i
  o = (g, l)
  return o
"""


@pytest.mark.parametrize("run", [Interpreter(), NativeRunner(reassociate=False)])
def test_by_hand(run: Runner) -> None:
    after = """
func @f(x: int32[3], c: bool[]):
  b = multiply(x, int32[3](11, 12, 13))
  j = add(b, x)
  l = if c:
    yield int32[3](-1, -2, -3)
  else:
    yield j
  o = (int32[2](24, 26), l)
  return o
"""
    folded = transform(graph(PROGRAM), [FoldConstants(run), EliminateDead()])
    assert folded == graph(after)
    agree(graph(PROGRAM), folded)


def test_what_becomes_large_is_computed_when_it_is_needed() -> None:
    program = """
func @f(x: float32[]):
  a = expand(float32[1](1.0), shape=[100])
  b = add(a, x)
  return b
"""
    becomes(FoldConstants(Interpreter(), limit=99), program, program)
    folded = transform(graph(program), [FoldConstants(Interpreter(), limit=100)])
    assert [each.name for each in folded.body.lets] == ["b"]


def test_a_branch_that_is_known_may_give_a_tuple() -> None:
    becomes(
        FoldConstants(Interpreter()),
        """
func @f(x: int8[]):
  a = if bool[](False):
    b = (x, x)
    yield b
  else:
    c = (x, int8[](3))
    yield c
  d = a[0]
  e = a[1]
  g = add(e, int8[](1))
  h = add(d, g)
  return h
""",
        """
func @f(x: int8[]):
  c = (x, int8[](3))
  d = c[0]
  e = c[1]
  g = add(e, int8[](1))
  h = add(d, g)
  return h
""",
    )


def test_an_illegal_function_is_refused() -> None:
    function = graph(PROGRAM)
    illegal = Function("f", function.params[:1], function.body)
    with pytest.raises(GraphError, match="l uses c, which is defined nowhere before"):
        FoldConstants(Interpreter()).apply(illegal)


@settings(max_examples=25)
@given(graphs())
def test_nothing_known_is_left(function: Function) -> None:
    found = keeps_meaning(FoldConstants(Interpreter()), function, inputs(function))
    types = infer(found)
    for let in all_lets(found.body):
        if isinstance(types[let.name], TensorType):
            assert not all(isinstance(atom, Constant) for atom in atoms(let.value))


def test_weights_that_layers_read_stay_compressed() -> None:
    table = "table=[0, 1, -2, -1]"
    program = f"""
func @f(x: int8[1, 3], y: int8[2, 3]):
  w = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), uint4[2, 2](1, 2, 3, 4), {table}, group=2)
  d = dense(x, w)
  v = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), {table})
  t = transpose(v, perm=[1, 0])
  m = matmul(x, t)
  u = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), {table})
  a = add(y, u)
  o = (d, m, a)
  return o
"""
    after = f"""
func @f(x: int8[1, 3], y: int8[2, 3]):
  w = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), uint4[2, 2](1, 2, 3, 4), {table}, group=2)
  d = dense(x, w)
  v = widen(uint2[2, 3](0, 1, 2, 3, 0, 1), {table})
  t = transpose(v, perm=[1, 0])
  m = matmul(x, t)
  a = add(y, int8[2, 3](0, 1, -2, -1, 0, 1))
  o = (d, m, a)
  return o
"""
    becomes(FoldConstants(Interpreter()), program, after)


def test_weights_are_widened_where_all_has_to_be_known() -> None:
    program = """
func @f(x: float32[1, 2]):
  w = dequantise_blocks(uint4[2, 1](1, 9), float32[1, 1](0.5), axis=0, block=2, middle=8)
  y = matmul(x, w)
  return y
"""
    after = """
func @f(x: float32[1, 2]):
  y = matmul(x, float32[2, 1](-3.5, 0.5))
  return y
"""
    becomes(FoldConstants(Interpreter()), program, program)
    becomes(FoldConstants(Interpreter(), keeps_compressed=False), program, after)

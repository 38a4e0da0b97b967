"""Values of data types without recursion become tuples."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Construct, Match
from tandem.compiler.graph.passes import Defunctionalise, FlattenData, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import all_lets, functions
from tests.support.compiler.graph.data_types import MAPPED, OPTION, ROSE, SUM, TREE
from tests.support.compiler.graph.graphs import agree, becomes, graph, same_values


def test_one_constructor_is_its_fields() -> None:
    becomes(
        FlattenData(),
        """type Pair[A, B] = Pair(A, B)
type Unit = Unit

func @swap(pair: Pair[Pair[int8[], int8[2]], Unit]) -> Pair[Unit, int8[]]:
  r = match pair:
    Pair(a, b):
      s = match a:
        Pair(c, d):
          t = Pair(b, c)
          yield t
      yield s
  return r

func @main(x: int8[], y: int8[2]) -> int8[]:
  p = Pair(x, y)
  u = Unit()
  q = Pair(p, u)
  r = @swap(q)
  s = match r:
    Pair(v, w):
      yield w
  z = negative(s)
  return z
""",
        """func @swap(pair: ((int8[], int8[2]), ())) -> ((), int8[]):
  a = pair[0]
  b = pair[1]
  c = a[0]
  d = a[1]
  t = (b, c)
  return t

func @main(x: int8[], y: int8[2]) -> int8[]:
  p = (x, y)
  u = ()
  q = (p, u)
  r = @swap(q)
  v = r[0]
  w = r[1]
  z = negative(w)
  return z
""",
    )


def test_several_constructors_are_a_number_and_slots() -> None:
    """Constructors share slots of equal types; what nothing reads is zeros."""
    becomes(
        FlattenData(),
        """type Some[T] = None | One(T) | Two(T, (int8[2], T))

func @main(c: bool[], x: int8[], y: int8[2]) -> int8[]:
  p = (y, x)
  some: Some[int8[]] = if c:
    two = Two(x, p)
    yield two
  else:
    one = One(x)
    yield one
  z = match some:
    Two(a, b):
      d = b[1]
      e = add(a, d)
      yield e
    None:
      yield x
    One(f):
      g = negative(f)
      yield g
  return z
""",
        """func @main(c: bool[], x: int8[], y: int8[2]) -> int8[]:
  p = (y, x)
  some: (int32[], int8[], int8[], int8[2]) = if c:
    part = p[0]
    part_1 = p[1]
    two = (int32[](2), x, part_1, part)
    yield two
  else:
    one = (int32[](1), x, int8[](0), int8[2](0, 0))
    yield one
  which = some[0]
  is = equal(which, int32[](2))
  z = if is:
    part_2 = some[1]
    part_3 = some[3]
    part_4 = some[2]
    parts = (part_3, part_4)
    d = parts[1]
    e = add(part_2, d)
    yield e
  else:
    is_1 = equal(which, int32[](0))
    case = if is_1:
      yield x
    else:
      part_5 = some[1]
      g = negative(part_5)
      yield g
    yield case
  return z
""",
    )


@pytest.mark.parametrize("x", [-4.0, 4.0])
@pytest.mark.parametrize("y", [-3.0, 3.0])
def test_programs_mean_the_same(x: float, y: float) -> None:
    start = graph(OPTION)
    found = transform(start, [FlattenData()])
    kinds = {type(let.value) for each in functions(found) for let in all_lets(each.body)}
    assert not kinds & {Construct, Match}
    given = [np.array(each, np.float32) for each in (x, y)]
    same_values(evaluate(found, given), evaluate(start, given))


def test_calls_that_end_a_function_still_do(monkeypatch: pytest.MonkeyPatch) -> None:
    start = graph(
        """type State = Up(int64[]) | Down(int64[], int64[])

func @run(n: int64[], state: State) -> int64[]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    s = match state:
      Up(x):
        y = add(x, int64[](3))
        down = Down(y, n)
        t = @run(m, down)
        yield t
      Down(z, by):
        w = subtract(z, by)
        up = Up(w)
        u = @run(m, up)
        yield u
    yield s
  else:
    v = match state:
      Up(a):
        yield a
      else:
        yield int64[](-1)
    yield v
  return r

func @main(n: int64[]) -> int64[]:
  up = Up(n)
  r = @run(n, up)
  return r
"""
    )
    found = transform(start, [FlattenData()])
    assert "State" not in text(found)
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 3)
    for n in (0, 3, 20):
        same_values(evaluate(found, [np.array(n)]), evaluate(start, [np.array(n)]))


def test_what_stays_a_value_on_the_heap() -> None:
    """Recursive types, what these hold, and what cannot be filled where nothing reads it."""
    for program in (SUM, TREE, ROSE, MAPPED):
        start = transform(graph(program), [Defunctionalise()])
        assert FlattenData().apply(start) is start
    held = """type Option[T] = None | Some(T)
type Box[T] = Box(T)
type List[T] = Nil | Cons(Option[T], List[T])

func @main(c: bool[], x: int8[N]) -> int8[N]:
  a = Some(x)
  nil = Nil[int8[N]]()
  list = Cons(a, nil)
  one = Some(list)
  box = Box(list)
  y = match one:
    Some(found):
      z = match box:
        Box(inner):
          b = match inner:
            Cons(head, tail):
              d = match head:
                Some(value):
                  yield value
                None:
                  yield x
              yield d
            Nil:
              yield x
          yield b
      yield z
    None:
      yield x
  return y
"""
    start = graph(held)
    found = transform(start, [FlattenData()])
    assert "box = (list,)" in text(found)
    assert text(found).count("match") == text(start).count("match") - 1
    agree(start, found)

"""Functions that are written where they are used become definitions."""

from __future__ import annotations

from tandem.compiler.graph.passes import LiftFunctions
from tests.support.compiler.graph.graphs import becomes, graph
from tests.support.compiler.graph.recursion import SUM


def test_names_around_become_parameters() -> None:
    """In the order of their use, also of a function within a function."""
    becomes(
        LiftFunctions(),
        """
func @main(a: float32[2], b: float32[2], unused: float32[2]):
  f = fun(x: float32[2]):
    y = subtract(b, x)
    g = fun(z: float32[2]):
      u = add(z, y)
      v = multiply(u, a)
      yield v
    w = call g(a)
    yield w
  r = call f(b)
  return r
""",
        """
func @main_g(y: float32[2], a: float32[2], z: float32[2]) -> float32[2]:
  u = add(z, y)
  v = multiply(u, a)
  return v

func @main_f(b: float32[2], a: float32[2], x: float32[2]) -> float32[2]:
  y = subtract(b, x)
  g: fn(float32[2]) -> float32[2] = partial @main_g(y, a)
  w = call g(a)
  return w

func @main(a: float32[2], b: float32[2], unused: float32[2]):
  f: fn(float32[2]) -> float32[2] = partial @main_f(b, a)
  r = call f(b)
  return r
""",
    )


def test_names_that_are_taken() -> None:
    becomes(
        LiftFunctions(),
        """
func @main_f(x: int8[]) -> int8[]:
  return x

func @main(x: int8[]):
  y = @main_f(x)
  f = fun():
    yield y
  z = call f()
  return z
""",
        """
func @main_f_1(y: int8[]) -> int8[]:
  return y

func @main_f(x: int8[]) -> int8[]:
  return x

func @main(x: int8[]):
  y = @main_f(x)
  f: fn() -> int8[] = partial @main_f_1(y)
  z = call f()
  return z
""",
    )


def test_a_program_without_such_functions() -> None:
    start = graph(SUM)
    assert LiftFunctions().apply(start) is start

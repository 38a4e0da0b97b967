"""Functions that add gradients of data types: their text, and sums by hand."""

from __future__ import annotations

import numpy as np

from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients.adders import adder
from tandem.compiler.graph.nodes import Global
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import DataType, FunctionType
from tests.support.compiler.graph.graphs import graph, same_values

TYPES = (
    "type G = Zero | One(float32[2], G) | Two(float32[], H, G)\ntype H = None | Some(float32[])\n"
)
"""Types of gradients; their first forms are zero."""

ADDER = """
func @add_G(a: G, b: G) -> G:
  sum = match a:
    Zero:
      yield b
    One(x, x_1):
      both = match b:
        One(y, y_1):
          z = add(x, y)
          z_1 = @add_G(x_1, y_1)
          z_2 = One(z, z_1)
          yield z_2
        else:
          yield a
      yield both
    Two(x_2, x_3, x_4):
      both_1 = match b:
        Two(y_2, y_3, y_4):
          z_3 = add(x_2, y_2)
          z_4 = @add_H(x_3, y_3)
          z_5 = @add_G(x_4, y_4)
          z_6 = Two(z_3, z_4, z_5)
          yield z_6
        else:
          yield a
      yield both_1
  return sum
"""

MAIN = """
func @main(g: G, h: H) -> G:
  return g
"""

SUM = """
func @main(p: float32[2], q: float32[2], s: float32[]):
  zero = Zero()
  none = None()
  some = Some(s)
  a_1 = One(p, zero)
  a = Two(s, some, a_1)
  b_1 = One(q, zero)
  b_2 = One(p, b_1)
  b = Two(s, some, b_2)
  c = @add_G(a, b)
  r = match c:
    Two(t, h, rest):
      u = match h:
        Some(v):
          yield v
        else:
          yield s
      w = (t, u)
      m = match rest:
        One(k, more):
          n = match more:
            One(o, last):
              yield o
            else:
              yield p
          both = (w, k, n)
          yield both
        else:
          other = (w, p, p)
          yield other
      yield m
    else:
      x = (s, s)
      y = (x, p, p)
      yield y
  return r
"""


def add(type_: DataType) -> Global:
    return Global(f"add_{type_.name}", FunctionType((type_, type_), type_))


def adders() -> list[Function]:
    params = graph(TYPES + MAIN).params
    types = [param.type for param in params if isinstance(param.type, DataType)]
    return [adder(add(each).name, each, OPERATORS, add) for each in types]


def test_the_text() -> None:
    """One arm for each form, beside which only zero is possible: then the other value is all."""
    whole, _ = adders()
    assert text(whole).partition("\n\n")[2] == ADDER[1:]


def test_sums() -> None:
    """As deep as both; behind it what the deeper one has."""
    both = "".join("\n" + text(each).partition("\n\n")[2] for each in adders())
    p, q, s = np.array([1, 2], np.float32), np.array([5, -3], np.float32), np.float32(7)
    found = evaluate(graph(TYPES + both + SUM), [p, q, np.array(s)])
    same_values(found, ((np.array(2 * s), np.array(2 * s)), 2 * p, q))

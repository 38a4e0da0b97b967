"""Types said everywhere."""

from __future__ import annotations

from tandem.compiler.graph.passes import InferTypes
from tests.support.compiler.graph.graphs import becomes


def test_types_are_said() -> None:
    before = """
func @g(a: float32[M]):
  b = relu(a)
  return b

func @f(x: float32[N, 4], c: bool[]):
  y = flatten(x, axis=2)
  z = squeeze(y, axes=[1])
  r = if c:
    n = @g(z)
    yield n
  else:
    yield z
  t = (r, c)
  return t
"""
    after = """
func @g(a: float32[M]) -> float32[M]:
  b: float32[M] = relu(a)
  return b

func @f(x: float32[N, 4], c: bool[]) -> (float32[4*N], bool[]):
  y: float32[4*N, 1] = flatten(x, axis=2)
  z: float32[4*N] = squeeze(y, axes=[1])
  r: float32[4*N] = if c:
    n: float32[4*N] = @g(z)
    yield n
  else:
    yield z
  t: (float32[4*N], bool[]) = (r, c)
  return t
"""
    becomes(InferTypes(), before, after)
    becomes(InferTypes(), after, after)

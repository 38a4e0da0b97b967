"""The padding of results in blocks."""

from __future__ import annotations

import pytest

from compiler.driver.call_sequence import call_sequence
from compiler.driver.padded_axes import padded_axes
from compiler.graph.passes import Fuse, transform
from runtime.artifact import PaddedAxis
from tests.support.compiler.graph.graphs import graph


def images(extent: int) -> PaddedAxis:
    return PaddedAxis(extent, 0, 4)


def channels(extent: int) -> PaddedAxis:
    return PaddedAxis(extent, 1, 5)


@pytest.mark.parametrize(
    ("shape", "batch", "padded"),
    [
        ("1, 4", 2, [images(1)]),
        ("3, 4", 2, [images(3)]),
        ("2, 4", 2, []),
        ("3, 4", 1, []),
        ("2, 5", 2, [channels(5)]),
        ("1, 1", 2, [images(1), channels(1)]),
    ],
)
def test_of_kernels(shape: str, batch: int, padded: list[PaddedAxis]) -> None:
    function = graph(f"""
func @f(x: float32[{shape}, 3, 3], y: float32[{shape}, 3, 3]):
  a = add(x, y)
  p = pack_data(a, batch={batch}, block=2)
  u = (a, p)
  return u
""")
    found = padded_axes(call_sequence(transform(function, [Fuse()])))
    assert [list(each) for each in found.values()] == ([padded] if padded else [])


def test_of_windows() -> None:
    """Each of the three channels has 2 x 1 taps."""
    function = graph("""
func @f(x: int8[1, 3, 4, 4]):
  p = pack_windows(x, kernel=[2, 1], batch=1, block=4)
  return p
""")
    assert padded_axes(call_sequence(transform(function, [Fuse()]))) == {"p": (channels(6),)}


def test_of_weights() -> None:
    """Zeros behind the channels are defined: products rely on them."""
    function = graph("""
func @f(x: int8[3, 5, 1, 1]):
  p = pack_weight(x, lanes=2, block=4)
  return p
""")
    assert padded_axes(call_sequence(transform(function, [Fuse()]))) == {"p": (images(3),)}


def test_of_byte_planes() -> None:
    """As kernels of the accelerator store accumulators."""
    function = graph("""
kernel @k(x: int32[1, 5, 1, 1]):
  p = pack_data(x, batch=2, block=2)
  b = byte_planes(p)
  return b
func @f(x: int32[1, 5, 1, 1]):
  y = @k(x)
  return y
""")
    assert padded_axes(call_sequence(function)) == {"y": (images(1), channels(5))}


def test_of_tuples() -> None:
    """Items of any depth; results of operators with several."""
    function = graph("""
func @f(x: float32[1, 4, 3, 3]):
  s = split(x, sizes=[1, 3], axis=1)
  p = pack_data(x, batch=2, block=2)
  t = (s, p)
  u = (x, t)
  r = u[1]
  return r
""")
    sequence = call_sequence(transform(function, [Fuse()]))
    assert padded_axes(sequence) == {"p": (images(1),)}

"""The images in blocks that are not full."""

from __future__ import annotations

import pytest

from compiler.driver.call_sequence import call_sequence
from compiler.driver.packed_images import packed_images
from compiler.graph.passes import Fuse, transform
from tests.support.graphs import graph


@pytest.mark.parametrize(
    ("images", "batch", "kept"), [(1, 2, 1), (3, 2, 3), (2, 2, None), (3, 1, None)]
)
def test_of_kernels(images: int, batch: int, kept: int | None) -> None:
    function = graph(f"""
func @f(x: float32[{images}, 4, 3, 3], y: float32[{images}, 4, 3, 3]):
  a = add(x, y)
  p = pack_data(a, batch={batch}, block=2)
  u = (a, p)
  return u
""")
    found = packed_images(call_sequence(transform(function, [Fuse()])))
    assert list(found.values()) == ([] if kept is None else [kept])


def test_of_byte_planes() -> None:
    """As kernels of the accelerator store accumulators."""
    function = graph("""
kernel @k(x: int32[1, 4, 1, 1]):
  p = pack_data(x, batch=2, block=2)
  b = byte_planes(p)
  return b
func @f(x: int32[1, 4, 1, 1]):
  y = @k(x)
  return y
""")
    assert packed_images(call_sequence(function)) == {"y": 1}


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
    assert packed_images(sequence) == {"p": 1}

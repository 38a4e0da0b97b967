"""The rows that indices pick."""

from __future__ import annotations

from tandem.compiler.graph.indices import rows_of_tables
from tests.support.compiler.quantise.networks import network


def test_the_smallest_table_of_all() -> None:
    function = network(
        """
func @main(x: int64[2, 3], x2: int64[2], x3: int64[2], table: float32[9, 4], wide: float32[5, 300]):
  y = gather(table, x, axis=0)
  i = cast(x, to=int32)
  j = reshape(i, shape=[6])
  z = gather(wide, j, axis=-1)
  a = gather(wide, j, axis=-2)
  b = gather(wide, x2, axis=1)
  t = (y, z, a, b, x3)
  return t
"""
    )
    assert rows_of_tables(function) == {"x": 5, "x2": 300}


def test_elements_and_coordinates_of_one_axis() -> None:
    function = network(
        """
func @main(x: int64[2, 4], x2: int64[3, 1], x3: int64[3, 2], x4: int64[2, 1, 1], t: float32[2, 7]):
  a = gather_elements(t, x, axis=1)
  b = gather_nd(t, x2)
  c = gather_nd(t, x3)
  d = gather_nd(t, x4, batch_dims=1)
  r = (a, b, c, d)
  return r
"""
    )
    assert rows_of_tables(function) == {"x": 7, "x2": 2, "x4": 7}

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

"""Samples of networks that have none."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import network, residual


def test_samples_are_the_same_each_time() -> None:
    function = residual(4)
    once, again, other = ([each[0] for each in synthetic(function, 2, seed)] for seed in (3, 3, 4))
    np.testing.assert_array_equal(once, again)
    assert once[0].shape == (1, 3, 4, 4)
    assert not np.array_equal(once[0], once[1])
    assert not np.array_equal(once[0], other[0])


def test_what_indexes_a_table_is_drawn_from_its_rows() -> None:
    """From the smallest table, also where the tokens are cast and moved before."""
    function = network(
        """
func @main(x: int64[2, 40], x2: int64[N, 3], table: float32[9, 4], wide: float32[5, 300]):
  y = gather(table, x, axis=0)
  i = cast(x, to=int32)
  j = reshape(i, shape=[80])
  z = gather(wide, j, axis=-1)
  a = gather(wide, j, axis=-2)
  t = (y, z, a, x2)
  return t
"""
    )
    samples = list(synthetic(function, 3))
    assert {int(each) for tokens, _ in samples for each in tokens.flat} == set(range(5))
    for tokens, other in samples:
        assert tokens.shape == (2, 40)
        assert tokens.dtype == np.int64
        np.testing.assert_array_equal(other, np.ones((1, 3), np.int64))


def test_bytes_and_bools() -> None:
    function = network("func @main(x: uint8[999], x2: bool[2]):\n  t = (x, x2)\n  return t")
    ((pixels, mask),) = synthetic(function, 1)
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert mask.tolist() == [True, True]


def test_a_tuple_takes_samples() -> None:
    function = network("func @main(x: (float32[2], float32[2])):\n  return x")
    with pytest.raises(QuantisationError, match=r"parameter x is .* calibrating it takes samples"):
        list(synthetic(function))

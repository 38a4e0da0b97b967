"""Products of a few pairs by hand; those of random numbers against NumPy: `test_gemm`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.sim.semantics.chip import LANES
from tandem.sim.semantics.dot import dot
from tests.support.base.compiled import plain

both = pytest.mark.parametrize("kernel", [dot, plain(dot)], ids=["vectors", "plain"])
Kernel = Callable[..., None]


@both
def test_each_weight_meets_its_input_and_its_accumulator(kernel: Kernel) -> None:
    """One weight of all is 1: only the accumulator of its lane gets only the input of its pair."""
    inp = np.array([0, 0, 3, 5, 7, 11], np.int16)
    for pair, half, lane in ((0, 0, 0), (0, 1, 15), (1, 0, 7), (1, 1, 8)):
        wgt = np.zeros(2 * LANES * 2 + 1, np.int8)
        wgt[1 + (pair * LANES + lane) * 2 + half] = 1
        acc = np.arange(LANES + 2, dtype=np.int32)
        kernel(acc, 1, inp, 2, wgt, 1, 2)
        added = acc - np.arange(LANES + 2)
        assert added.tolist() == [
            *[0] * (1 + lane),
            (3, 5, 7, 11)[2 * pair + half],
            *[0] * (LANES - lane),
        ]


@both
def test_sums_wrap_at_32_bits(kernel: Kernel) -> None:
    acc = np.array([(1 << 31) - 1, -(1 << 31), (1 << 31) - 2, 0] * 4, np.int32)
    wgt = np.zeros(LANES * 2, np.int8)
    wgt[::2] = [1, -1, 1, -1] * 4
    kernel(acc, 0, np.array([1, 100], np.int16), 0, wgt, 0, 1)
    assert acc.tolist() == [-(1 << 31), (1 << 31) - 1, (1 << 31) - 1, -1] * 4


@both
def test_inputs_have_sixteen_bits_and_no_pairs_add_nothing(kernel: Kernel) -> None:
    acc, wgt = np.zeros(LANES, np.int32), np.full(LANES * 2, -128, np.int8)
    kernel(acc, 0, np.array([-128, 255], np.int16), 0, wgt, 0, 1)
    assert acc.tolist() == [128 * 128 - 128 * 255] * LANES
    kernel(acc, 0, np.array([-128, 255], np.int16), 0, wgt, 0, 0)
    assert acc.tolist() == [128 * 128 - 128 * 255] * LANES

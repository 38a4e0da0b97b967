"""The GEMM kernel against NumPy, in the compiled form and in the form that is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.sim.semantics.chip import LANES, make_chip
from tandem.sim.semantics.dot import dot
from tests.support.base.compiled import plain

INT8 = st.one_of(st.integers(-128, 127), st.sampled_from([-128, 127]))


def expected(acc: Any, inp: Any, wgt: Any) -> npt.NDArray[np.int32]:
    """What 16 accumulators become: plain int64 arithmetic, cut to 32 bits."""
    weights = wgt.astype(np.int64).transpose(1, 0, 2).reshape(LANES, -1)
    total: npt.NDArray[np.int64] = acc.astype(np.int64) + weights @ inp.astype(np.int64)
    return total.astype(np.int32)


@given(data=st.data(), pairs=st.integers(1, 64), seed=st.integers(0, 1 << 32))
def test_compiled_and_plain_kernel_equal_numpy(data: st.DataObject, pairs: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    inp = random.integers(-128, 128, 2 * pairs).astype(np.int16)
    wgt = random.integers(-128, 128, (pairs, LANES, 2)).astype(np.int8)
    inp[data.draw(st.integers(0, 2 * pairs - 1))] = data.draw(INT8)
    wgt[data.draw(st.integers(0, pairs - 1))] = data.draw(INT8)
    acc = random.integers(-(1 << 31), 1 << 31, LANES).astype(np.int32)

    for kernel in (dot, plain(dot)):
        result = acc.copy()
        kernel(result, 0, inp, 0, wgt.ravel(), 0, pairs)
        np.testing.assert_array_equal(result, expected(acc, inp, wgt))


@pytest.mark.parametrize("kernel", [dot, plain(dot)])
@pytest.mark.parametrize(("x", "w"), [(-128, -128), (-128, 127), (127, -128), (127, 127)])
def test_extremes_do_not_saturate(kernel: Any, x: int, w: int) -> None:
    pairs = 64
    inp = np.full(2 * pairs, x, dtype=np.int16)
    wgt = np.full(pairs * LANES * 2, w, dtype=np.int8)
    start = np.array([(1 << 31) - 1, -(1 << 31), 0, 1] * 4, dtype=np.int32)
    acc = start.copy()

    kernel(acc, 0, inp, 0, wgt, 0, pairs)

    total = start.astype(np.int64) + 2 * pairs * x * w
    np.testing.assert_array_equal(acc, total.astype(np.int32))


@pytest.mark.parametrize("kernel", [dot, plain(dot)])
def test_offsets_and_nothing_around(kernel: Any) -> None:
    inp = np.arange(8, dtype=np.int16)
    wgt = np.ones(4 * LANES * 2, dtype=np.int8)
    acc = np.zeros(3 * LANES, dtype=np.int32)

    kernel(acc, LANES, inp, 4, wgt, 2 * LANES, 2)

    assert acc.tolist() == [0] * LANES + [4 + 5 + 6 + 7] * LANES + [0] * LANES


def test_memories_begin_on_cache_lines_and_elements_are_whole_vectors() -> None:
    for preset in ("tiny", "small8", "batch2", "pynq", "big32"):
        chip = make_chip(load_config(preset))
        for memory in (chip.uop, chip.wgt, chip.inp, chip.acc):
            assert memory.ctypes.data % 64 == 0
        assert chip.row_out % LANES == 0
        assert chip.row_in == 2 * chip.pairs
        assert len(chip.acc) == chip.acc_depth * chip.batch * chip.row_out

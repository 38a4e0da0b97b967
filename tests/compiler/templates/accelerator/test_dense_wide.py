"""Sums of dense layers leave whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CapacityError
from compiler.ir.dtypes import INT8
from compiler.operators.accelerator.dense_wide import (
    amounts,
    wide_dense,
    wide_dense_schedule,
    wide_tiling,
)
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from tests.support.accelerator_operators import drawn_size, machine
from tests.support.alu_passes import draw_tensor
from tests.support.random_operators import random_tests
from tests.support.streams import run_schedule


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    rng = np.random.default_rng(seed)
    n, ic, oc = (drawn_size(rng, most) for most in (3, 5, 6))
    data, a = draw_tensor(rng, (n, ic, config.batch, config.block_in), INT8, "data")
    weight, b = draw_tensor(rng, (oc, ic, config.block_out, config.block_in), INT8, "weight")
    dense = wide_dense(data, weight)
    tiling = wide_tiling(dense, config, threads)
    tiling = replace(
        tiling,
        n=drawn_size(rng, tiling.n),
        oc=drawn_size(rng, tiling.oc),
        ic=drawn_size(rng, tiling.ic),
    )
    schedule = wide_dense_schedule(dense, tiling, AcceleratorTarget.of(config))
    tensors = {"data": a, "weight": b, "dense_amounts": amounts(config)}
    found = run_schedule(schedule, config, tensors, engine)
    bytes_of_it = found.astype(np.int64) & 0xFF
    sums = sum(bytes_of_it[plane] << (8 * plane) for plane in range(4))
    product = np.einsum("nibk,oilk->nobl", a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(np.asarray(sums).astype(np.uint32).astype(np.int32), product)


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(_check, few=8)


def test_refuses_what_does_not_fit() -> None:
    tiny = machine("tiny")
    dense = wide_dense(
        placeholder((1, 1, 1, 4), INT8, "data"), placeholder((8, 1, 4, 4), INT8, "weight")
    )
    small = replace(tiny, log_acc_buffer=6)
    with pytest.raises(CapacityError, match=r"ACC, which has"):
        wide_tiling(dense, small, 2)

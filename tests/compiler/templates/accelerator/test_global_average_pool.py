"""Sums over whole images are exact for random shapes, steps and machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CapacityError, TensorError
from compiler.ir.dtypes import INT8, INT32
from compiler.lower.accelerator.commands import Compute
from compiler.operators.accelerator.epilogue import Pass
from compiler.operators.accelerator.global_average_pool import (
    GlobalPoolTiling,
    global_average_pool_schedule,
    global_average_pool_tiling,
    packed_global_average_pool,
)
from compiler.operators.accelerator.requantise import requantise
from compiler.requantisation import RequantSpec
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp
from tests.support.accelerator_operators import drawn_size, machine
from tests.support.alu_passes import draw_passes, draw_tensor, low_bytes, passed
from tests.support.random_operators import random_tests
from tests.support.streams import run_schedule, stream_of

TINY = machine("tiny")


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    rng = np.random.default_rng(seed)
    n, c, h, w = (drawn_size(rng, most) for most in (2, 6, 7, 7))
    shape = (n, c, h, w, config.batch, config.block_out)
    data, values = draw_tensor(rng, shape, INT8, "data")
    drawn = draw_passes(rng, (n, c, 1, 1, *shape[-2:]), 2)
    pool = packed_global_average_pool(data, drawn.passes)
    tiling = global_average_pool_tiling(pool, config, threads)
    tiling = replace(
        tiling,
        oc=drawn_size(rng, tiling.oc),
        y=drawn_size(rng, tiling.y),
        x=drawn_size(rng, tiling.x),
    )
    schedule = global_average_pool_schedule(pool, tiling, AcceleratorTarget.of(config))
    tensors = {"data": values, **drawn.values}
    found = run_schedule(schedule, config, tensors, engine)
    sums = values.astype(np.int64).sum(axis=(2, 3), keepdims=True)
    expected = low_bytes(passed(sums, drawn.passes, tensors))
    np.testing.assert_array_equal(found, expected, f"{drawn.passes} in {tiling}")


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(_check, few=10)


def test_a_mean_by_requantisation() -> None:
    """1/49 is part of the multiplier; each mean is rounded once, halves upwards."""
    config = machine("small8")
    data, values = draw_tensor(np.random.default_rng(7), (1, 4, 7, 7, 1, 8), INT8, "data")
    after = requantise(RequantSpec.from_scales([1 / 49], [0], -128, 127), 32, config, "scale")
    pool = packed_global_average_pool(data, after.passes)
    tiling = global_average_pool_tiling(pool, config)
    schedule = global_average_pool_schedule(pool, tiling, AcceleratorTarget.of(config))
    found = run_schedule(schedule, config, {"data": values, **after.values}, "functional")
    means = values.mean(axis=(2, 3), keepdims=True)
    np.testing.assert_array_equal(found, np.floor(means + 0.5))


def test_one_instruction_adds_all_pixels() -> None:
    data = placeholder((1, 32, 7, 7, 1, 16), INT8, "data")
    pool = packed_global_average_pool(data, [Pass(AluOp.SHR, 6)])
    pynq = machine("pynq")
    tiling = global_average_pool_tiling(pool, pynq, threads=1)
    assert tiling == GlobalPoolTiling(32, 7, 7, threads=1)
    stream = stream_of(global_average_pool_schedule(pool, tiling, AcceleratorTarget.of(pynq)), pynq)
    commands = [each for each in stream.commands if each is not None]
    added = [each for each in commands if isinstance(each, Compute) and each.op is AluOp.ADD]
    assert [each.micro_ops for each in added] == [32 * 49]


def test_refuses() -> None:
    with pytest.raises(TensorError, match=r"data int8\[1, 4, 7, 7\] has to be packed, int8\[N, C,"):
        packed_global_average_pool(placeholder((1, 4, 7, 7), INT8, "data"), [])
    with pytest.raises(TensorError, match=r"data int32\[.*\] has to be packed, int8"):
        packed_global_average_pool(placeholder((1, 1, 7, 7, 1, 4), INT32, "data"), [])
    with pytest.raises(TensorError, match=r"data .* has no pixels: nothing to pool"):
        packed_global_average_pool(placeholder((1, 1, 0, 7, 1, 4), INT8, "data"), [])


def test_refuses_what_never_fits() -> None:
    operands = [placeholder((1, 1, 1, 1, 1, 4), INT32, f"r{number}") for number in range(40)]
    pool = packed_global_average_pool(
        placeholder((1, 1, 3, 3, 1, 4), INT8, "data"), [Pass(AluOp.ADD, each) for each in operands]
    )
    with pytest.raises(
        CapacityError, match="tiny: the smallest tiles take 42 elements of ACC, which has 32"
    ):
        global_average_pool_tiling(pool, TINY)

"""Passes over packed data and sums of two tensors: exact for random shapes, tiles, machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CapacityError, LoweringError, TensorError
from compiler.ir.dtypes import FLOAT32, INT8, INT32, DType
from compiler.operators.accelerator.elementwise import (
    elementwise_schedule,
    elementwise_tile,
    packed_add,
    packed_elementwise,
)
from compiler.operators.accelerator.epilogue import Pass
from compiler.operators.accelerator.tiles import Tile
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp
from tests.support.accelerator_operators import drawn_size, machine
from tests.support.alu_passes import draw_passes, draw_tensor, low_bytes, passed
from tests.support.random_operators import random_tests
from tests.support.streams import run_schedule, run_stream, stream_of

TINY = machine("tiny")
RELU = Pass(AluOp.MAX, 0)


def _shape(rng: np.random.Generator, config: HardwareConfig) -> tuple[int, ...]:
    n, c, h, w = (drawn_size(rng, most) for most in (2, 5, 7, 6))
    return n, c, h, w, config.batch, config.block_out


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    rng = np.random.default_rng(seed)
    shape = _shape(rng, config)
    data, values = draw_tensor(rng, shape, INT8 if rng.random() < 0.5 else INT32, "data")
    drawn = draw_passes(rng, shape, 3)
    operator = packed_elementwise(data, drawn.passes)
    tile = elementwise_tile(operator, config, threads)
    tile = replace(
        tile,
        oc=drawn_size(rng, tile.oc),
        y=drawn_size(rng, tile.y),
        x=drawn_size(rng, tile.x),
        along=str(rng.choice([tile.along, "oc", "y", "x"])),
    )
    schedule = elementwise_schedule(operator, tile, AcceleratorTarget.of(config))
    tensors = {"data": values, **drawn.values}
    found = run_schedule(schedule, config, tensors, engine)
    expected = low_bytes(passed(values.astype(np.int64), drawn.passes, tensors))
    np.testing.assert_array_equal(found, expected, f"{drawn.passes} in {tile}")


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(_check, few=16)


@pytest.mark.parametrize("dtype", [INT8, INT32])
def test_without_passes_low_bytes_are_copied(dtype: DType) -> None:
    data, values = draw_tensor(np.random.default_rng(1), (1, 2, 3, 3, 1, 4), dtype, "data")
    operator = packed_elementwise(data, [])
    schedule = elementwise_schedule(operator, Tile(1, 2, 3), AcceleratorTarget.of(TINY))
    found = run_schedule(schedule, TINY, {"data": values}, "functional")
    np.testing.assert_array_equal(found, values.astype(np.int8))


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_a_sum_of_tensors_of_different_scales(engine: str) -> None:
    rng = np.random.default_rng(2)
    shape = (2, 3, 5, 3, 1, 4)
    left, a = draw_tensor(rng, shape, INT8, "left")
    right, b = draw_tensor(rng, shape, INT8, "right")
    add = packed_add(
        left,
        right,
        [Pass(AluOp.SHR, 4), RELU, Pass(AluOp.MIN, 127)],
        left_passes=[Pass(AluOp.MUL, 9)],
        right_passes=[Pass(AluOp.MUL, 23)],
    )
    schedule = elementwise_schedule(add, elementwise_tile(add, TINY), AcceleratorTarget.of(TINY))
    found = run_schedule(schedule, TINY, {"left": a, "right": b}, engine)
    total = 9 * a.astype(np.int64) + 23 * b.astype(np.int64)
    np.testing.assert_array_equal(found, np.clip(total >> 4, 0, 127))


def test_a_tensor_added_to_itself() -> None:
    data, values = draw_tensor(np.random.default_rng(3), (1, 1, 4, 4, 1, 4), INT8, "data")
    add = packed_add(data, data, [Pass(AluOp.SHR, 1)])
    schedule = elementwise_schedule(add, elementwise_tile(add, TINY), AcceleratorTarget.of(TINY))
    np.testing.assert_array_equal(
        run_schedule(schedule, TINY, {"data": values}, "functional"), values
    )


def test_operands_of_channels_that_do_not_stay() -> None:
    """10 blocks of channels with 3 operands are 30 of 32 accumulators: tiles load their own."""
    rng = np.random.default_rng(4)
    shape = (1, 10, 3, 2, 1, 4)
    data, values = draw_tensor(rng, shape, INT8, "data")
    tensors = {"data": values}
    passes = []
    for op in (AluOp.MUL, AluOp.ADD, AluOp.MAX):
        operand, tensors[op.name] = draw_tensor(rng, (10, 1, 4), INT32, op.name)
        passes.append(Pass(op, operand))
    operator = packed_elementwise(data, passes)
    tile = elementwise_tile(operator, TINY)
    assert tile == Tile(1, 3, 2, resident=False)
    schedule = elementwise_schedule(operator, tile, AcceleratorTarget.of(TINY))
    found = run_schedule(schedule, TINY, tensors, "functional")
    expected = low_bytes(passed(values.astype(np.int64), passes, tensors))
    np.testing.assert_array_equal(found, expected)
    schedule = elementwise_schedule(
        operator, replace(tile, resident=True), AcceleratorTarget.of(TINY)
    )
    with pytest.raises(CapacityError, match=r"ACC of tiny has 32 elements; .* 42: 10 too many"):
        stream_of(schedule, TINY)


def test_tiles_fill_accumulators() -> None:
    """Two tensors on one thread: 16 elements of each are the 32 accumulators, 17 are too many."""
    shape = (1, 1, 1, 17, 1, 4)
    add = packed_add(placeholder(shape, INT8, "a"), placeholder(shape, INT8, "b"), [RELU])
    target = AcceleratorTarget.of(TINY)
    assert elementwise_tile(add, TINY, threads=1).x == 9
    stream_of(elementwise_schedule(add, Tile(1, 1, 16, threads=1, along="x"), target), TINY)
    with pytest.raises(CapacityError, match="34: 2 too many"):
        stream_of(elementwise_schedule(add, Tile(1, 1, 17, threads=1), target), TINY)


def test_without_work_for_all_threads_there_are_fewer() -> None:
    operator = packed_elementwise(placeholder((1, 1, 2, 3, 1, 4), INT8, "data"), [RELU])
    assert elementwise_tile(operator, TINY, threads=4) == Tile(1, 2, 1, threads=3, along="x")


def test_the_store_of_one_thread_does_not_hold_up_the_other() -> None:
    data, values = draw_tensor(np.random.default_rng(5), (1, 2, 16, 4, 1, 4), INT8, "data")
    operator = packed_elementwise(data, [RELU])
    cycles = {}
    for threads in (1, 2):
        tile = Tile(1, 2, 4, threads)
        schedule = elementwise_schedule(operator, tile, AcceleratorTarget.of(TINY))
        _, result = run_stream(stream_of(schedule, TINY), {"data": values}, "rtl", "ddr")
        assert result.cycles is not None
        cycles[threads] = result.cycles
    assert cycles[2] < cycles[1]


def test_refuses() -> None:
    shape = (1, 1, 2, 3, 1, 4)
    data = placeholder(shape, INT8, "data")
    with pytest.raises(TensorError, match=r"data int8\[1, 4, 2, 3\] has to be packed, int8 or"):
        packed_elementwise(placeholder((1, 4, 2, 3), INT8, "data"), [])
    with pytest.raises(TensorError, match=r"data float32\[.*\] has to be packed"):
        packed_elementwise(placeholder(shape, FLOAT32, "data"), [])
    with pytest.raises(
        TensorError,
        match=r"mul elementwise_0_mul: m int8\[1, 1, 4\] has to be int32\[1, 1, 4\], or int8 or "
        r"int32 \[1, 1, 2, 3, 1, 4\]",
    ):
        packed_elementwise(data, [Pass(AluOp.MUL, placeholder((1, 1, 4), INT8, "m"))])
    with pytest.raises(TensorError, match=r"r int8\[1, 1, 3, 2, 1, 4\] has to be"):
        packed_add(data, placeholder((1, 1, 3, 2, 1, 4), INT8, "r"), [])
    channel = placeholder((1, 1, 4), INT32, "m")
    with pytest.raises(TensorError, match="only an operand for each element has passes of its own"):
        packed_elementwise(data, [Pass(AluOp.MUL, channel, (RELU,))])


def test_refuses_a_number_without_room() -> None:
    operator = packed_elementwise(
        placeholder((1, 1, 2, 3, 1, 4), INT8, "data"), [Pass(AluOp.ADD, 1 << 15)]
    )
    with pytest.raises(LoweringError, match="immediate 32768 of ADD: -32768 to 32767 is allowed"):
        elementwise_schedule(operator, Tile(1, 1, 1), AcceleratorTarget.of(TINY))


def test_refuses_what_never_fits() -> None:
    shape = (1, 1, 2, 3, 1, 4)
    operands = [placeholder(shape, INT8, f"r{number}") for number in range(20)]
    operator = packed_elementwise(
        placeholder(shape, INT8, "data"), [Pass(AluOp.ADD, each) for each in operands]
    )
    with pytest.raises(
        CapacityError,
        match=r"elementwise over data int8\[1, 1, 2, 3, 1, 4\] does not fit on tiny: the smallest "
        r"tiles take 42 elements of ACC, which has 32",
    ):
        elementwise_tile(operator, TINY)

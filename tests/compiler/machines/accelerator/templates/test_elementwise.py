"""Passes over packed data and sums of two tensors: exact for random shapes, tiles, machines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError, LoweringError, Refusal
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.alu_passes import (
    Passes,
    draw_values,
    low_bytes,
)
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_elementwise,
)
from tests.support.compiler.machines.accelerator.templates.streams import (
    run_schedule,
    run_stream,
    stream_of,
)

TEMPLATE = ElementwiseOnAlu()
TINY = machine("tiny")
RELU = AluPass(AluOp.MAX, "zero")
ZERO = {"zero": 0}

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_elementwise), few=16
)


def best(workload: ElementwiseWorkload, threads: int = 2) -> Choice:
    return best_choice(accelerator(TINY), TEMPLATE, workload, {"threads": (threads,)})


def scheduled(workload: ElementwiseWorkload, choice: Choice) -> Schedule:
    return TEMPLATE.schedule(workload, choice, AcceleratorTarget.of(TINY))


def tile(oc: int, y: int, x: int, threads: int = 2, along: str = "oc") -> Choice:
    return {"threads": threads, "along": along, "oc": oc, "y": y, "x": x}


@pytest.mark.parametrize("dtype", [INT8, INT32])
def test_without_passes_low_bytes_are_copied(dtype: DType) -> None:
    values = draw_values(np.random.default_rng(1), (1, 2, 3, 3, 1, 4), dtype)
    schedule = scheduled(ElementwiseWorkload(values.shape, (), dtype), tile(1, 2, 3))
    found = run_schedule(schedule, TINY, {"data": values}, "functional")
    np.testing.assert_array_equal(found, values.astype(np.int8))


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_a_sum_of_tensors_of_different_scales(engine: str) -> None:
    rng = np.random.default_rng(2)
    left, right = (draw_values(rng, (2, 3, 5, 3, 1, 4), INT8) for _ in range(2))
    passes = (
        AluPass(AluOp.MUL, "left"),
        AluPass(AluOp.ADD, "other", OperandKind.ELEMENT, INT8, (AluPass(AluOp.MUL, "right"),)),
        AluPass(AluOp.SHR, "shift"),
        RELU,
        AluPass(AluOp.MIN, "most"),
    )
    workload = ElementwiseWorkload(left.shape, passes)
    numbers = {"left": 9, "right": 23, "shift": 4, "most": 127, **ZERO}
    schedule = scheduled(workload, best(workload))
    found = run_schedule(schedule, TINY, {"data": left, "other": right}, engine, numbers)
    total = 9 * left.astype(np.int64) + 23 * right.astype(np.int64)
    np.testing.assert_array_equal(found, np.clip(total >> 4, 0, 127))


def test_a_tensor_added_to_itself() -> None:
    values = draw_values(np.random.default_rng(3), (1, 1, 4, 4, 1, 4), INT8)
    passes = (AluPass(AluOp.ADD, "again", OperandKind.ELEMENT, INT8), AluPass(AluOp.SHR, "half"))
    workload = ElementwiseWorkload(values.shape, passes)
    tensors = {"data": values, "again": values}
    schedule = scheduled(workload, best(workload))
    found = run_schedule(schedule, TINY, tensors, "functional", {"half": 1})
    np.testing.assert_array_equal(found, values)


def test_operands_of_channels_that_do_not_stay() -> None:
    """10 blocks of channels with 3 operands are 30 of 32 accumulators: tiles load their own."""
    rng = np.random.default_rng(4)
    values = draw_values(rng, (1, 10, 3, 2, 1, 4), INT8)
    ops = (AluOp.MUL, AluOp.ADD, AluOp.MAX)
    operands = {op.name: draw_values(rng, (10, 1, 4), INT32) for op in ops}
    passes = Passes(tuple(AluPass(op, op.name, OperandKind.CHANNEL) for op in ops), operands)
    workload = ElementwiseWorkload(values.shape, passes.passes)
    choice = best(workload)
    assert choice == {**tile(1, 3, 2), "resident": 0}
    tensors = {"data": values, **operands}
    found = run_schedule(scheduled(workload, choice), TINY, tensors, "functional")
    np.testing.assert_array_equal(found, low_bytes(passes.applied(values.astype(np.int64))))
    resident = scheduled(workload, {**choice, "resident": 1})
    with pytest.raises(CapacityError, match=r"ACC of tiny has 32 elements; .* 42: 10 too many"):
        stream_of(resident, TINY)


@pytest.mark.parametrize(("blocks", "resident"), [(8, 1), (9, 0)])
def test_operands_of_channels_stay_up_to_a_quarter(blocks: int, resident: int) -> None:
    passes = (AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL),)
    workload = ElementwiseWorkload((1, blocks, 2, 2, 1, 4), passes)
    assert best(workload)["resident"] == resident


def test_operands_that_fit_one_way_only_come_that_way() -> None:
    """One block of channels would stay; four operands and a pixel for two threads are 12."""
    small = TINY.replace(log_acc_buffer=7)
    passes = tuple(AluPass(AluOp.ADD, f"bias{number}", OperandKind.CHANNEL) for number in range(4))
    workload = ElementwiseWorkload((1, 2, 1, 1, 1, 4), passes)
    assert best_choice(accelerator(small), TEMPLATE, workload)["resident"] == 0
    fixed = {"resident": (1,)}
    with pytest.raises(
        Refusal, match=r"ACC has 8 elements and they take 9, for which log_acc_buffer would"
    ):
        best_choice(accelerator(small, hiding=False), TEMPLATE, workload, fixed)


def test_tiles_fill_accumulators() -> None:
    """Two tensors on one thread: 16 elements of each are the 32 accumulators, 17 are too many."""
    passes = (AluPass(AluOp.ADD, "b", OperandKind.ELEMENT, INT8), RELU)
    workload = ElementwiseWorkload((1, 1, 1, 17, 1, 4), passes)
    assert best(workload, threads=1)["x"] == 9
    stream_of(scheduled(workload, tile(1, 1, 16, 1, "x")), TINY, ZERO)
    with pytest.raises(CapacityError, match="34: 2 too many"):
        stream_of(scheduled(workload, tile(1, 1, 17, 1)), TINY, ZERO)


def test_without_work_for_two_threads_there_is_one() -> None:
    target = accelerator(TINY)
    shared = ElementwiseWorkload((1, 1, 1, 3, 1, 4), (RELU,))
    assert best_choice(target, TEMPLATE, shared) == tile(1, 1, 2, 2, "x")
    alone = ElementwiseWorkload((1, 1, 1, 1, 1, 4), (RELU,))
    assert best_choice(target, TEMPLATE, alone)["threads"] == 1


def test_the_store_of_one_thread_does_not_hold_up_the_other() -> None:
    values = draw_values(np.random.default_rng(5), (1, 2, 16, 4, 1, 4), INT8)
    workload = ElementwiseWorkload(values.shape, (RELU,))
    cycles = {}
    for threads in (1, 2):
        schedule = scheduled(workload, tile(1, 2, 4, threads))
        _, result = run_stream(stream_of(schedule, TINY, ZERO), {"data": values}, "rtl", "ddr")
        assert result.cycles is not None
        cycles[threads] = result.cycles
    assert cycles[2] < cycles[1]


def test_refuses_a_number_without_room() -> None:
    workload = ElementwiseWorkload((1, 1, 2, 3, 1, 4), (AluPass(AluOp.ADD, "n"),))
    schedule = scheduled(workload, tile(1, 1, 1))
    with pytest.raises(LoweringError, match="immediate 32768 of ADD: -32768 to 32767 is allowed"):
        stream_of(schedule, TINY, {"n": 1 << 15})


def test_refuses_what_never_fits() -> None:
    passes = tuple(
        AluPass(AluOp.ADD, f"r{number}", OperandKind.ELEMENT, INT8) for number in range(20)
    )
    with pytest.raises(
        Refusal,
        match=r"^tiny is too small for the smallest tiles: ACC has 32 elements and they take 42, "
        r"for which log_acc_buffer would have to be 10$",
    ):
        best(ElementwiseWorkload((1, 1, 2, 3, 1, 4), passes))

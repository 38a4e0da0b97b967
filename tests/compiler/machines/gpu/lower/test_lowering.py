"""Launches of schedules: their text, their barriers, what does not fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError, LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import INTRINSICS, SHARED, grid_of, is_barrier
from tandem.compiler.machines.gpu.lower.lowering import gpu_program, shared_bytes
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.schedules import Tile, product, transposed, window
from tests.support.compiler.te.schedules import blur, matmul, random_inputs

MACHINE = GpuMachine()


def barriers(schedule: Schedule) -> int:
    """The barriers in the text of a schedule's one launch."""
    (launch,) = gpu_program(schedule.program, MACHINE).launches
    return sum(map(is_barrier, statements(launch.body)))


@pytest.mark.parametrize("slots", [1, 2])
def test_golden(slots: int, golden: Callable[[str, str], None]) -> None:
    (launch,) = gpu_program(product(tile=Tile(slots=slots)).program, MACHINE).launches
    golden(f"lower/gpu_product_{slots}.txt", text(launch))
    assert parse(text(launch), INTRINSICS) == launch


@pytest.mark.parametrize(
    ("schedule", "count"),
    [
        # One where tiles become visible, and one before the next tiles overwrite them.
        (product(), 2),
        # The next tiles are other slots.
        (product(tile=Tile(slots=2)), 1),
        (product(tile=Tile(slots=3)), 1),
        (window(), 1),
        (transposed(), 1),
        # A single tile is not overwritten.
        (product(k=4), 1),
        # One thread sees what it writes.
        (product(tile=Tile(4, 4, 4, 4, 4)), 0),
    ],
    ids=["tiles", "two slots", "three slots", "window", "transposed", "one tile", "one thread"],
)
def test_barriers(schedule: Schedule, count: int) -> None:
    assert barriers(schedule) == count


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize(
    "schedule",
    [product(10, 9, 5), product(9, 8, 9, Tile(slots=2)), window(), transposed(10, 7)],
    ids=["edges", "two slots", "window", "transposed"],
)
def test_results(schedule: Schedule, order: Order) -> None:
    arrays = random_inputs(schedule.program)
    (wanted,) = interpreter.run(schedule.program, arrays)
    (found,) = run_program(gpu_program(schedule.program, MACHINE), arrays, order)
    np.testing.assert_array_equal(found, wanted)


def test_each_nest_is_a_launch() -> None:
    schedule = Schedule.of(blur())
    for stage in ("blurx", "blury"):
        schedule = schedule.bind(stage, "y", "blocks").bind(stage, "x", "threads")
    program = gpu_program(schedule.program, MACHINE)
    assert [each.name for each in program.launches] == ["blury_0", "blury_1"]
    assert [each.name for each in program.scratch] == ["blurx"]
    assert [each.name for each in program.launches[1].inputs] == ["blurx"]


def test_memory_of_one_thread() -> None:
    with pytest.raises(LoweringError, match=r"several threads access an element of \w_tile"):
        gpu_program(product(fetched=Scope.LOCAL).program, MACHINE)


def test_shared_sums_are_slow_and_right() -> None:
    schedule = product(8, 8, 8, summed=SHARED)
    arrays = random_inputs(schedule.program)
    (wanted,) = interpreter.run(schedule.program, arrays)
    (found,) = run_program(gpu_program(schedule.program, MACHINE), arrays, Order.BACKWARDS)
    np.testing.assert_array_equal(found, wanted)


def test_what_does_not_fit() -> None:
    schedule = product()
    with pytest.raises(CapacityError, match="C has 16 threads a block: opencl has 8"):
        gpu_program(schedule.program, GpuMachine(threads=8))
    with pytest.raises(CapacityError, match="C shares 256 bytes a block: opencl has 128"):
        gpu_program(schedule.program, GpuMachine(shared_bytes=128))
    (launch,) = gpu_program(schedule.program, MACHINE).launches
    assert shared_bytes(grid_of(launch)) == 256


def test_elements_that_blocks_share() -> None:
    schedule = Schedule.of(matmul()).bind("C", "i", "blocks").bind("C", "j", "threads")
    (launch,) = gpu_program(schedule.program, MACHINE).launches
    assert grid_of(launch)[:2] == (6, 8)

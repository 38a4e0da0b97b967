"""Planted faults: each is found by the checker, the interpreter or the comparison of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product as combinations

import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.dots import dot_arrays, dot_program
from tests.support.compiler.machines.gpu.faults import faults, found_by
from tests.support.compiler.machines.gpu.schedules import Tile, product, transposed, window
from tests.support.compiler.te.schedules import random_inputs

QUICK = (product(8, 8, 8, Tile(slots=1)), product(8, 8, 8, Tile(slots=2)), window(), transposed())


def more() -> Iterator[Schedule]:
    """Schedules of other shapes and tiles."""
    for rows, depth, own, slots in combinations((4, 8), (2, 4), (1, 2), (1, 2)):
        yield product(8, 12, 8, Tile(rows, 4, depth, own, 2, slots))
    yield from (window(17, reach, 4) for reach in (2, 5))
    yield from (transposed(10, 7, side) for side in (2, 4))


def findings(schedule: Schedule) -> Counter[str]:
    """How many faults of a schedule's launch were found, by what found them."""
    (launch,) = gpu_program(schedule.program, GpuMachine()).launches
    arrays = random_inputs(launch)
    (wanted,) = interpreter.run(schedule.program, arrays)
    assert found_by(launch, arrays, wanted) is None
    found: Counter[str] = Counter()
    for name, planted in faults(launch):
        by = found_by(planted, arrays, wanted)
        assert by is not None, f"{name}: nothing finds it"
        found[by] += 1
    return found


@pytest.mark.parametrize("schedule", QUICK, ids=["product", "two slots", "window", "transposed"])
def test_some(schedule: Schedule) -> None:
    found = findings(schedule)
    assert found["checker"]
    assert found["comparison"]


def test_dot_products() -> None:
    (launch,) = dot_program().launches
    arrays, wanted = dot_arrays(dot_program())
    assert found_by(launch, arrays, wanted) is None
    every = dict(faults(launch))
    # Each of the two rows that a thread takes is moved by a thread, in two ways.
    assert len(every) > 4 * 2
    for name, planted in every.items():
        assert found_by(planted, arrays, wanted) is not None, name


@pytest.mark.exhaustive
def test_two_hundred() -> None:
    found: Counter[str] = Counter()
    for schedule in more():
        found += findings(schedule)
    assert found.total() >= 200

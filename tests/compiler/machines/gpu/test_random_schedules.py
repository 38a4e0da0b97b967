"""Random schedules of random expressions: launches give the interpreter's bits, or are refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.random_schedules import random_bound_schedule
from tests.support.compiler.te.random_schedules import random_outputs
from tests.support.compiler.te.schedules import random_inputs

STEPS = 12


def agrees(seed: int) -> bool:
    """Whether a random schedule has launches; then they give what its expression gives."""
    rng = random.Random(f"bound {seed}")
    start = Schedule.of(*random_outputs(rng))
    arrays = random_inputs(start.program, seed)
    wanted = interpreter.run(start.program, arrays)
    schedule = random_bound_schedule(rng, start, STEPS)
    try:
        program = gpu_program(schedule.program, GpuMachine())
    except LoweringError:
        return False
    for order in Order:
        found = run_program(program, arrays, order, seed)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    return True


def test_some() -> None:
    assert sum(map(agrees, range(16))) >= 6


@pytest.mark.exhaustive
def test_five_hundred() -> None:
    assert sum(map(agrees, range(16, 1200))) >= 500

"""The schedule for any operators: random expressions give the interpreter's bits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import grid_of
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.random_schedules import random_outputs
from tests.support.compiler.te.schedules import matmul, random_inputs, relu_of_sum

MACHINE = GpuMachine(threads=8)


def check(seed: int) -> None:
    """Compare a random expression's launches with its interpreted program, in every order."""
    outputs = random_outputs(random.Random(f"expression {seed}"))
    plain = Schedule.of(*outputs)
    arrays = random_inputs(plain.program, seed)
    wanted = interpreter.run(plain.program, arrays)
    program = gpu_program(gpu_schedule(*outputs, machine=MACHINE).program, MACHINE)
    for order in Order:
        found = run_program(program, arrays, order, seed)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(12, 500))
def test_many_random_expressions(seed: int) -> None:
    check(seed)


def test_a_thread_for_each_element() -> None:
    (launch,) = gpu_program(gpu_schedule(matmul(), machine=MACHINE).program, MACHINE).launches
    assert grid_of(launch)[:2] == (6, 8)
    (launch,) = gpu_program(gpu_schedule(relu_of_sum(), machine=MACHINE).program, MACHINE).launches
    assert grid_of(launch)[:2] == (2, 8)

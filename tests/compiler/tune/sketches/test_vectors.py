"""Programs as vectors of numbers."""

from __future__ import annotations

import random

import numpy as np

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.lower import lower
from tandem.compiler.te import compute, placeholder
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.vectors import program_numbers, written_out
from tests.support.compiler.te.random_layers import random_layer
from tests.support.compiler.te.schedules import matmul, relu_of_sum


def test_all_programs_have_as_many_numbers() -> None:
    sizes = set()
    for seed in range(20):
        program = lower(Schedule.of(random_layer(random.Random(seed))).program)
        vector = program_numbers(program, 128).vector
        assert np.isfinite(vector).all()
        sizes.add(len(vector))
    assert len(sizes) == 1


def test_statements_that_are_written_out() -> None:
    start = Schedule.of(matmul(6, 8, 5))
    assert written_out(lower(start.program), 128) == 2
    tiled = start.decompose_reduction("C", "k").unroll("C", "i")
    assert written_out(lower(tiled.program), 128) == 2 * 6
    lanes = start.reorder("C", "k", "i", "j").decompose_reduction("C", "k").vectorize("C", "j")
    assert written_out(lower(lanes.program), 128) == 1 + 2
    assert written_out(lower(lanes.program), 512) == 1 + 1


def test_schedules_of_one_program_differ() -> None:
    start = Schedule.of(relu_of_sum(64))
    one = program_numbers(lower(start.program), 128).vector
    other = program_numbers(lower(start.compute_inline("total").program), 128).vector
    assert not np.array_equal(one, other)


def test_steps_are_what_is_computed_or_loaded() -> None:
    """A product of 6 x 8, five terms deep, whose sums begin with a store each."""

    def steps(schedule: Schedule, register_bits: int = 128) -> float:
        return program_numbers(lower(schedule.program), register_bits).steps

    start = Schedule.of(matmul(6, 8, 5)).reorder("C", "k", "i", "j").decompose_reduction("C", "k")
    # For each term two factors and what was added before.
    assert steps(start) == 48 + 5 * 48 * 3
    lanes = start.vectorize("C", "j")
    # A row of eight is two registers, of B and of sums; the element of A is one.
    assert steps(lanes) == 48 + 5 * 6 * (2 + 2 + 1)
    assert steps(lanes, 256) == 48 + 5 * 6 * (1 + 1 + 1)
    # Six rows share the row of B.
    rows = lanes.unroll("C", "i")
    assert steps(rows) == 48 + 5 * (6 * 2 + 6 + 2)
    # All terms share the sums: 60 registers are computed and 52 loaded, of 256 bits 30 and 41.
    whole = rows.unroll("C", "k")
    assert steps(whole) == 48 + max(5 * 6 * 2, 6 * 2 + 5 * 6 + 5 * 2)
    assert steps(whole, 256) == 48 + max(5 * 6, 6 + 5 * 6 + 5)


def test_an_empty_program_has_a_step() -> None:
    x = placeholder((0,), FLOAT32, "x")
    program = lower(Schedule.of(compute((0,), lambda i: x[i] + 1.0, "y")).program)
    assert program_numbers(program, 128).steps == 1

"""Programs as vectors of numbers."""

from __future__ import annotations

import random

import numpy as np

from tandem.compiler.lower import lower
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.vectors import program_vector, written_out
from tests.support.compiler.te.random_layers import random_layer
from tests.support.compiler.te.schedules import matmul, relu_of_sum


def test_all_programs_have_as_many_numbers() -> None:
    sizes = set()
    for seed in range(20):
        program = lower(Schedule.of(random_layer(random.Random(seed))).program)
        vector = program_vector(program, 128)
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
    one = program_vector(lower(start.program), 128)
    other = program_vector(lower(start.compute_inline("total").program), 128)
    assert not np.array_equal(one, other)

"""Copies of constants become programs of their own; the rest reads their results."""

from __future__ import annotations

import numpy as np

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.constants import hoist_constants
from tests.support.compiler.te.schedules import matmul, random_inputs


def packed() -> Schedule:
    return (
        Schedule.of(matmul(6, 8, 5))
        .cache_read("B", ("C",), Scope.GLOBAL, "P")
        .set_layout("P", ("1/4", "0", "1%4"))
    )


def test_results_are_the_same() -> None:
    start = packed()
    found = hoist_constants(start.program, {"B"})
    assert [each.name for each in found.program.inputs] == ["A", "P"]
    (packing,) = found.packings
    a, b = random_inputs(start.program)
    (copy,) = interpreter.run(packing, [b])
    assert copy.shape == (2, 5, 4)
    (wanted,) = interpreter.run(start.program, [a, b])
    (result,) = interpreter.run(found.program, [a, copy])
    np.testing.assert_array_equal(result, wanted)


def test_nothing_is_taken_out_of_other_programs() -> None:
    start = packed()
    assert hoist_constants(start.program, {"A"}).program is start.program
    # A copy that is made in a loop is no nest of its own.
    copied = Schedule.of(matmul(6, 8, 5)).cache_read("B", ("C",), Scope.GLOBAL, "P")
    inside = copied.compute_at("P", "C", "i").program
    assert hoist_constants(inside, {"B"}).packings == ()


def test_an_output_is_never_taken_out() -> None:
    start = Schedule.of(matmul())
    assert hoist_constants(start.program, {"A", "B"}).program is start.program

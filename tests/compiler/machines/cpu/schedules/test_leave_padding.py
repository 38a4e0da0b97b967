"""Padding that is left as it is: fewer stores, and the same elements."""

from __future__ import annotations

import numpy as np

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.cpu.codegen import compile_function
from tandem.compiler.machines.cpu.schedules.leave_padding import LeavePadding
from tests.support.compiler.machines.cpu.native import EXACT

PROGRAM = """
func f(x: int8[3, 5]) -> (y: int8[5, 8]):
  for i in 5:
    for lane in 8 vectorized:
      y[i, lane] = select(lane < 3, x[lane, i], 0)
"""


def test_the_program() -> None:
    changed = LeavePadding("y").apply(parse(PROGRAM))
    assert text(changed) == (
        "func f(x: int8[3, 5]) -> (y: int8[5, 8]):\n"
        "  for i in 5:\n"
        "    for lane in 3:\n"
        "      y[i, lane] = x[lane, i]\n"
    )
    x = np.arange(15, dtype=np.int8).reshape(3, 5)
    (found,) = compile_function(changed, EXACT)(x)
    assert np.array_equal(found[:, :3], x.T)


def test_other_results_stay() -> None:
    program = parse(PROGRAM)
    assert LeavePadding("z").apply(program) is program
    other = parse(PROGRAM.replace("x[lane, i], 0)", "x[lane, i], 1)"))
    assert LeavePadding("y").apply(other) is other

"""Reductions by trees: the interpreter's results, in every order of threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import grid_of, is_barrier
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.machines.gpu.schedules.trees import Tree, with_trees
from tandem.compiler.te import Tensor, compute, max, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine(threads=8)


def rows(terms: int = 64) -> Tensor:
    """Sums of rows, and what is made of each."""
    x, k = placeholder((3, terms), INT32, "x"), reduce_axis(terms, "k")
    s = compute((3,), lambda i: sum(x[i, k], axis=k), "s")
    return compute((3,), lambda i: s[i] * 2 + 1, "y")


def image() -> Tensor:
    """The greatest element of each channel, less than which nothing is."""
    x = placeholder((2, 9, 11), INT32, "x")
    i, j = reduce_axis(9, "i"), reduce_axis(11, "j")
    return compute((2, 1, 1), lambda c, a, b: max(x[c, i, j], axis=(i, j)), "y")


def shifted() -> Tensor:
    """Rows without their greatest element, by which others are read as well."""
    x, k = placeholder((2, 70), INT32, "x"), reduce_axis(70, "k")
    m = compute((2,), lambda i: max(x[i, k], axis=k), "m")
    return compute((2, 70), lambda i, j: x[i, j] - m[i], "y")


def twice() -> Tensor:
    """Sums of columns of sums of rows: one tree reads what another has found."""
    x = placeholder((2, 65, 66), INT32, "x")
    k, r = reduce_axis(66, "k"), reduce_axis(65, "r")
    s = compute((2, 65), lambda i, j: sum(x[i, j, k], axis=k), "s")
    return compute((2,), lambda i: sum(s[i, r], axis=r), "y")


CASES: dict[str, Callable[[], Tensor]] = {
    "rows": rows,
    "uneven": lambda: rows(77),
    "image": image,
    "shifted": shifted,
    "twice": twice,
}


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    expression = CASES[name]()
    plain = Schedule.of(expression)
    arrays = random_inputs(plain.program)
    wanted = interpreter.run(plain.program, arrays)
    schedule = gpu_schedule(expression, machine=MACHINE)
    np.testing.assert_array_equal(interpreter.run(schedule.program, arrays), wanted)
    program = gpu_program(schedule.program, MACHINE)
    for order in Order:
        np.testing.assert_array_equal(run_program(program, arrays, order), wanted)


def test_a_block_for_each_element() -> None:
    (launch,) = gpu_program(gpu_schedule(rows(), machine=MACHINE).program, MACHINE).launches
    grid = grid_of(launch)
    assert (grid.blocks, grid.threads) == (3, 8)
    # Eight threads leave four, two and one result: each level reads what the one before wrote.
    assert len([each for each in statements(grid.body) if is_barrier(each)]) == 3
    assert {each.size for each in grid.shared} == {8, 4, 2}


def test_which_are_trees() -> None:
    assert with_trees([rows()], [], MACHINE)[1] == (
        Tree("s", "s_partial", ("s_tree4", "s_tree2"), "lane", "step", 8),
    )
    few = rows(63)
    assert with_trees([few], [], MACHINE) == ((few,), ())
    left = rows()
    assert with_trees([left], ["s"], MACHINE) == ((left,), ())
    assert len(with_trees([rows(512)], [], GpuMachine())[1][0].levels) == 6

"""Softmax and normalisations: one launch, which reads a row once, with the right numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT32, INT32
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import grid_of
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.te import Tensor, compute, exp, max, placeholder, reduce_axis, sqrt, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine(threads=8)


def softmax(rows: int = 3, columns: int = 70) -> Tensor:
    x = placeholder((rows, columns), FLOAT32, "x")
    k, r = reduce_axis(columns, "k"), reduce_axis(columns, "r")
    m = compute((rows,), lambda i: max(x[i, k], axis=k), "m")
    e = compute((rows, columns), lambda i, j: exp(x[i, j] - m[i]), "e")
    s = compute((rows,), lambda i: sum(e[i, r], axis=r), "s")
    return compute((rows, columns), lambda i, j: e[i, j] / s[i], "y")


def normalised() -> Tensor:
    """Groups of an image's channels, less their mean, by their deviation."""
    x, g = placeholder((2, 3, 8, 9), FLOAT32, "x"), placeholder((3,), FLOAT32, "g")
    i, j = reduce_axis(8, "i"), reduce_axis(9, "j")
    a, b = reduce_axis(8, "a"), reduce_axis(9, "b")
    mean = compute((2, 3), lambda n, c: sum(x[n, c, i, j], axis=(i, j)), "sums")
    d = compute((2, 3, 8, 9), lambda n, c, h, w: x[n, c, h, w] - mean[n, c] / 72.0, "d")
    v = compute((2, 3), lambda n, c: sum(d[n, c, a, b] * d[n, c, a, b], axis=(a, b)), "v")
    return compute(
        (2, 3, 8, 9), lambda n, c, h, w: d[n, c, h, w] / sqrt(v[n, c] / 72.0 + 0.1) * g[c], "y"
    )


def shifted() -> Tensor:
    x, k = placeholder((2, 70), INT32, "x"), reduce_axis(70, "k")
    m = compute((2,), lambda i: max(x[i, k], axis=k), "m")
    return compute((2, 70), lambda i, j: x[i, j] - m[i], "y")


def of_columns() -> Tensor:
    """Columns less their sums: no row has all that a sum reads."""
    x, k = placeholder((70, 2), INT32, "x"), reduce_axis(70, "k")
    m = compute((2,), lambda j: sum(x[k, j], axis=k), "m")
    return compute((70, 2), lambda i, j: x[i, j] - m[j], "y")


CASES: dict[str, tuple[Callable[[], Tensor], int]] = {
    "softmax": (softmax, 1),
    "one row": (lambda: softmax(1, 64), 1),
    "normalised": (normalised, 1),
    "shifted": (shifted, 1),
    "columns": (of_columns, 2),
}
"""Expressions, and how many launches compute them."""


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    make, launches = CASES[name]
    expression = make()
    plain = Schedule.of(expression)
    arrays = random_inputs(plain.program)
    (wanted,) = interpreter.run(plain.program, arrays)
    program = gpu_program(gpu_schedule(expression, machine=MACHINE).program, MACHINE)
    assert len(program.launches) == launches
    for order in Order:
        (found,) = run_program(program, arrays, order)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_block_for_each_row() -> None:
    (launch,) = gpu_program(gpu_schedule(softmax(), machine=MACHINE).program, MACHINE).launches
    grid = grid_of(launch)
    assert (grid.blocks, grid.threads) == (3, 8)
    # A row of what is between the two reductions.
    assert {each.name: each.size for each in grid.shared}["e"] == 70


def test_rows_that_do_not_fit() -> None:
    small = GpuMachine(threads=8, shared_bytes=300)
    program = gpu_program(gpu_schedule(softmax(), machine=small).program, small)
    assert len(program.launches) == 4
    assert len(gpu_program(gpu_schedule(shifted(), machine=small).program, small).launches) == 1

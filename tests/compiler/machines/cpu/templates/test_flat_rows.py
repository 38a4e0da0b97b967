"""Which images have vectors across the ends of their rows."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import LoopKind
from tandem.compiler.ir.visit import loops
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.flat_rows import (
    flat_image_in_lanes,
    flat_result_in_lanes,
)
from tandem.compiler.te import Tensor, compute, placeholder
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of
from tests.support.compiler.operators.operators import given_as, numbers, same

SIMD = Simd(64, 32, permuted=frozenset({8, 32}))
WORDS = Simd(64, 32, permuted=frozenset({32}))


def image(data: Tensor, apart: int = 1) -> Tensor:
    """Every so many rows of an image, one behind the other, with a border of one column."""
    rows, columns = data.shape
    width = columns + 2

    def element(q: Expr) -> Expr:
        x = q % width
        inside = te.all_of(index(1) <= x, x <= columns)
        return te.select(inside, data[q // width * apart, x - 1], 0)

    return compute((rows // apart * width,), element, "flat", ["q"])


def vectors(schedule: Schedule) -> list[int]:
    """The extents of vectorized loops."""
    found = [each for each in loops(schedule.program.body) if each.kind is LoopKind.VECTORIZED]
    return [extent_of(each) for each in found]


@pytest.mark.parametrize(
    ("shape", "dtype", "apart", "simd", "expected"),
    [
        ((25, 5), UINT8, 1, SIMD, [64, 47]),
        ((9, 5), UINT8, 1, SIMD, [63]),
        ((25, 5), FLOAT32, 1, SIMD, [16, 15]),
        ((16, 16), UINT8, 2, SIMD, [32, 16]),
        ((18, 16), UINT8, 3, SIMD, [16, 12]),
        # Too long rows, or too far apart; too many vectors; no permutations.
        ((2, 65), UINT8, 1, SIMD, None),
        ((4, 33), UINT8, 2, SIMD, None),
        ((60, 20), UINT8, 1, SIMD, None),
        ((25, 5), UINT8, 1, WORDS, None),
    ],
)
def test_images(
    shape: tuple[int, int], dtype: DType, apart: int, simd: Simd, expected: list[int] | None
) -> None:
    flat = image(placeholder(shape, dtype, "X"), apart)
    found = flat_image_in_lanes(Schedule.of(flat), flat, "q", shape[1], simd, apart)
    assert (None if found is None else vectors(found)) == expected


def result(rows: int, columns: int, pitch: int) -> tuple[Tensor, Tensor, Schedule]:
    sums = placeholder((3, rows * pitch), FLOAT32, "S")
    out = compute(
        (3, rows, columns), lambda c, y, x: sums[c, y * pitch + x] * 2.0, "out", ["c", "y", "x"]
    )
    return sums, out, Schedule.of(out, inputs=[sums])


@pytest.mark.parametrize(
    ("rows", "columns", "pitch", "simd", "expected"),
    [
        (25, 5, 7, SIMD, [16, 13]),
        (3, 5, 7, SIMD, [15]),
        (16, 8, 12, SIMD, [16]),
        # Rows of whole vectors; far apart; too many; no permutations.
        (4, 32, 34, SIMD, None),
        (16, 1, 3, SIMD, None),
        (30, 20, 22, SIMD, None),
        (25, 5, 7, Simd(64, 32), None),
    ],
)
def test_results(
    rows: int, columns: int, pitch: int, simd: Simd, expected: list[int] | None
) -> None:
    sums, out, schedule = result(rows, columns, pitch)
    found = flat_result_in_lanes(schedule, out, sums, pitch, simd)
    assert (None if found is None else vectors(found)) == expected


@pytest.mark.parametrize(("rows", "columns", "pitch"), [(25, 5, 7), (3, 5, 7), (16, 8, 12)])
def test_values(rows: int, columns: int, pitch: int) -> None:
    """On a processor that has the permutations and on any other."""
    target = CpuTarget.host(1)
    sums, out, schedule = result(rows, columns, pitch)
    moved = flat_result_in_lanes(schedule, out, sums, pitch, SIMD)
    assert moved is not None
    data = numbers(1, sums.shape)
    (found,) = compile_function(moved.program, target)(data)
    same(found, 2 * data.reshape(3, rows, pitch)[:, :, :columns])
    x = numbers(2, (rows, columns), "uint8")
    flat = image(given_as("X", x))
    copied = flat_image_in_lanes(Schedule.of(flat), flat, "q", columns, SIMD)
    assert copied is not None
    (found,) = compile_function(copied.program, target)(x)
    (wanted,) = run(program_of([flat]), [x])
    same(found, wanted)
    same(found, np.pad(x, ((0, 0), (1, 1))).reshape(-1))

"""Rows that no window reads are left out of what is held on chip, and results are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.visit import blocks
from tandem.compiler.machines.accelerator.sketches.rows import without_gaps
from tandem.compiler.operators.pad import pad
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated


def strided(
    size: tuple[int, int] = (9, 8),
    counts: tuple[int, int] = (3, 4),
    strides: tuple[int, int] = (2, 2),
    kernel: int = 1,
    offset: int = 0,
    *,
    padded: bool = False,
) -> Tensor:
    """Windows of rows and columns, `kernel` of them along y, over two blocks."""
    image = placeholder((2, *size, 1, 4), INT8, "image")
    weight = placeholder((3, 2, kernel, 4, 4), INT8, "weight")
    edges = (0, 1, 1, 0, 0)
    read = pad(image, (*edges, *edges), name="padded") if padded else image
    c, k, t = reduce_axis(2, "c"), reduce_axis(kernel, "k"), reduce_axis(4, "t")
    sums = compute(
        (3, *counts, 1, 4),
        lambda o, y, x, b, e: te.sum(
            te.cast(read[c, y * strides[0] + k + offset, x * strides[1], b, t], INT32)
            * te.cast(weight[o, c, k, e, t], INT32),
            axis=(c, k, t),
        ),
        "sums",
    )
    return compute(sums.shape, lambda *axes: te.cast(sums[axes], INT8), "y")


def values(start: Schedule) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.integers(-99, 99, each.shape, np.int8) for each in start.program.inputs]


def check(output: Tensor, image: str, shape: tuple[int, ...]) -> Schedule:
    """The stage of rows has this shape, reads what it should, and no result changes."""
    start = Schedule.of(output)
    found, name = without_gaps(start, "sums", image)
    assert name == f"{image}_rows"
    assert allocated(found.program.body)[name].shape == shape
    assert [block.name for block in blocks(found.program.body)] == [name, "sums", "y"]
    given = values(start)
    (wanted,), (result,) = (interpreter.run(each.program, given) for each in (start, found))
    np.testing.assert_array_equal(result, wanted)
    assert [each.name for each in found.program.inputs] == ["image", "weight"]
    return found


@pytest.mark.parametrize(("stride", "size"), [(2, 9), (2, 6), (3, 9), (2, 5)])
def test_rows_between_strides_are_left_out(stride: int, size: int) -> None:
    """Columns are not: a LOAD takes whole runs of them."""
    check(strided((size, 8), (2, 4), (stride, 2)), "image", (2, 2, 8, 1, 4))


def test_blocks_between_strides_are_left_out() -> None:
    """Of each dimension but the innermost one outside of an element."""
    image = placeholder((8, 9, 5, 1, 4), INT8, "image")
    weight = placeholder((3, 2, 4, 4), INT8, "weight")
    c, t = reduce_axis(2, "c"), reduce_axis(4, "t")
    sums = compute(
        (3, 4, 5, 1, 4),
        lambda o, y, x, b, e: te.sum(
            te.cast(image[c * 4, y * 2, x, b, t], INT32) * te.cast(weight[o, c, e, t], INT32),
            axis=(c, t),
        ),
        "sums",
    )
    output = compute(sums.shape, lambda *axes: te.cast(sums[axes], INT8), "y")
    check(output, "image", (2, 4, 5, 1, 4))


def test_padding_is_part_of_the_rows() -> None:
    """One stage instead of two."""
    found = check(strided((7, 6), padded=True), "padded", (2, 3, 8, 1, 4))
    assert "padded" not in allocated(found.program.body)


@pytest.mark.parametrize(
    "output",
    [
        strided(strides=(1, 2)),
        strided(kernel=2),
        strided(offset=1),
        strided((3, 8), counts=(1, 4), strides=(2, 2)),
    ],
    ids=["every row", "windows that meet", "not from the first row", "one row"],
)
def test_images_that_are_read_as_they_are(output: Tensor) -> None:
    start = Schedule.of(output)
    assert without_gaps(start, "sums", "image") == (start, "image")


def test_axes_of_one_iteration_are_no_gaps() -> None:
    """Nor do they hide one: rows are a multiple of y, whatever is added of an axis that is 0."""
    image = placeholder((9, 8, 1, 4), INT8, "image")
    weight = placeholder((3, 1, 4, 4), INT8, "weight")
    k, t = reduce_axis(1, "k"), reduce_axis(4, "t")
    sums = compute(
        (3, 3, 8, 1, 4),
        lambda o, y, x, b, e: te.sum(
            te.cast(image[y * 3 + k, x, b, t], INT32) * te.cast(weight[o, k, e, t], INT32),
            axis=(k, t),
        ),
        "sums",
    )
    output = compute(sums.shape, lambda *axes: te.cast(sums[axes], INT8), "y")
    check(output, "image", (3, 8, 1, 4))


def test_an_image_of_the_same_rows_needs_no_stage() -> None:
    """Two rows of two, although windows are two apart along an axis of one."""
    start = Schedule.of(strided((1, 8), counts=(1, 4), strides=(5, 2)))
    assert without_gaps(start, "sums", "image") == (start, "image")

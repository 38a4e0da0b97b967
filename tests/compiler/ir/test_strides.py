"""How far apart elements are."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.ir.stmt import Block
from tandem.compiler.ir.strides import accesses, row_length, stride, strides
from tandem.compiler.ir.visit import blocks
from tandem.compiler.layouts.conversion import convert
from tandem.compiler.layouts.layout import image_blocks
from tandem.compiler.operators.layout import reshape
from tandem.compiler.operators.lookup import lookup
from tandem.compiler.operators.slicing import slice_of
from tandem.compiler.te import Tensor, compute, placeholder
from tandem.compiler.te.schedule import Schedule

X = placeholder((4, 6, 5), FLOAT32, "X")


def block(tensor: Tensor) -> Block:
    (found,) = blocks(Schedule.of(tensor).program.body)
    return found


def test_of_each_access() -> None:
    moved = block(compute((5, 4), lambda i, j: X[j, 2, i] + X[0, i, 4 - j], "m"))
    found = {str(each.indices): stride(each, "j") for each in accesses(moved)}
    assert sorted(found.values(), key=str) == [-1, 1, 30]
    assert strides(accesses(moved), "i") == {4, 1, 5}


def test_several_dimensions_add_up() -> None:
    diagonal = block(compute((4,), lambda i: X[i, i + 1, i], "d"))
    assert strides(accesses(diagonal), "i") == {1, 36}


def test_divisions_have_none() -> None:
    joined = block(reshape(X, (4, 30), name="r"))
    assert strides(accesses(joined), "i1") == {1, None}


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (reshape(X, (4, 30)), 5),
        (reshape(X, (120,)), 5),
        (reshape(X, (24, 5)), None),
        (slice_of(X, [1], [5]), None),
        (compute((60,), lambda i1: X[0, i1 // 6 % 6, i1 // 15], "m"), None),
        (compute((60,), lambda i1: X[i1 // 20, i1 % 5, i1 // 20], "m"), 5),
    ],
)
def test_rows(tensor: Tensor, expected: int | None) -> None:
    axis = block(tensor).iters[-1].var.name
    assert row_length(block(tensor), axis) == expected


def test_blocks_of_channels_are_contiguous() -> None:
    """What is unpacked from blocks and packed into such again moves along the lanes of a block."""
    packed = placeholder((1, 3, 1, 5, 1, 8), FLOAT32, "packed")
    image = convert(packed, shape=(1, 24, 1, 5), source=image_blocks(1, 8), name="image")
    moved = convert(image, shape=image.shape, target=image_blocks(1, 8), name="moved")
    schedule = Schedule.of(moved, inputs=[packed]).compute_inline("image")
    (block,) = blocks(schedule.program.body)
    found = accesses(block)
    assert strides(found, "i5") == {1}
    assert strides(found, "i3") == {8}
    assert strides(found, "i1") == {5 * 8}
    # Blocks of another size are not.
    other = convert(image, shape=image.shape, target=image_blocks(1, 6), name="other")
    schedule = Schedule.of(other, inputs=[packed]).compute_inline("image")
    (block,) = blocks(schedule.program.body)
    assert None in strides(accesses(block), "i5")


def test_lookups_have_no_stride() -> None:
    data, table = placeholder((9,), INT8, "B"), placeholder((256,), INT8, "T")
    assert strides(accesses(block(lookup(data, table))), "i0") == {1}

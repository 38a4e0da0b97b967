"""What is asked of stages, by hand."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT8, INT32
from tandem.compiler.te import cast, compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches import stages
from tests.support.compiler.te.schedules import blur, matmul, relu_of_sum

MATMUL = Schedule.of(matmul(6, 8, 5)).program
BLUR = Schedule.of(blur(10, 12)).program
PRODUCT = stages.block_of(MATMUL, "C")


def test_axes() -> None:
    assert stages.spatial(PRODUCT) == ("i", "j")
    assert stages.shape_of(PRODUCT) == (6, 8)
    assert stages.reduced(PRODUCT) == ("k",)
    assert stages.iterations(PRODUCT) == 6 * 8 * 5
    split = Schedule.of(matmul(6, 8, 5)).split("C", "i", 4).program
    assert stages.loop_extents(split, "C") == {"i_o": 2, "i_i": 4, "j": 8, "k": 5}
    # The loops run 8 rows, of which 6 are there.
    assert stages.executed(split, "C") == 8 * 8 * 5
    assert stages.iterations(stages.block_of(split, "C")) == 6 * 8 * 5


def test_kinds() -> None:
    assert stages.is_reduction(PRODUCT)
    assert not stages.is_reduction(stages.block_of(BLUR, "blurx"))
    assert not stages.is_reassociable(PRODUCT)
    assert stages.is_intermediate(BLUR, "blurx")
    assert not stages.is_intermediate(BLUR, "blury")
    assert not stages.is_intermediate(BLUR, "image")


def test_readers() -> None:
    assert [each.name for each in stages.readers_of(BLUR, "blurx")] == ["blury"]
    assert stages.readers_of(BLUR, "blury") == ()
    # A sum that is read where it is updated.
    assert stages.readers_of(MATMUL, "C") == ()
    blury = stages.block_of(BLUR, "blury")
    assert len(stages.loads_of(blury, "blurx")) == 3
    assert stages.loads_of(blury, "image") == []
    assert not stages.is_plain(blury, "blurx")
    assert stages.is_plain(PRODUCT, "A")
    assert stages.is_plain(PRODUCT, "B")
    moved = Schedule.of(compute((4,), lambda i: placeholder((9,), INT8, "a")[i * 2], "m")).program
    assert not stages.is_plain(stages.block_of(moved, "m"), "a")


def test_expressions() -> None:
    total = stages.block_of(Schedule.of(relu_of_sum()).program, "total")
    # The sum, two loads and their two indices, and the index of the element.
    assert stages.length(total) == 1 + 2 + 2 + 1
    assert stages.widest_bits(total) == 32
    a = placeholder((4,), INT8, "a")
    wide = compute((4,), lambda i: cast(cast(a[i], FLOAT64) + 1.0, INT8), "w")
    assert stages.widest_bits(stages.block_of(Schedule.of(wide).program, "w")) == 64
    narrow = compute((4,), lambda i: a[i] + 1, "n")
    assert stages.widest_bits(stages.block_of(Schedule.of(narrow).program, "n")) == 8


def test_strides_of_operands() -> None:
    assert stages.operand_strides(PRODUCT, "i") == {"A": {5}, "B": {0}}
    assert stages.operand_strides(PRODUCT, "j") == {"A": {0}, "B": {1}}
    assert stages.operand_strides(PRODUCT, "k") == {"A": {1}, "B": {8}}
    assert stages.affine_length(PRODUCT, "j") == 8
    assert stages.shares_loads(PRODUCT)
    a = placeholder((4, 4), INT32, "a")
    k = reduce_axis(4, "k")
    rows = Schedule.of(compute((4,), lambda i: sum(a[i, k], k), "r")).program
    assert not stages.shares_loads(stages.block_of(rows, "r"))
    # One row of a product reads no element for several results.
    row = Schedule.of(matmul(1, 8, 5)).program
    assert stages.shares_loads(stages.block_of(row, "C"))
    one = Schedule.of(matmul(1, 1, 5)).program
    assert not stages.shares_loads(stages.block_of(one, "C"))


def test_groups_of_channels() -> None:
    a = placeholder((6,), FLOAT32, "a")
    grouped = compute((12,), lambda c: a[c // 4], "g")
    block = stages.block_of(Schedule.of(grouped).program, "g")
    # Within 4 channels the index is affine: it is one.
    assert stages.affine_length(block, "c") == 4
    assert stages.operand_strides(block, "c") == {"a": {0}}


def test_loops_directly_around() -> None:
    assert stages.perfect_loops(MATMUL, "C") == ("i", "j", "k")
    inside = Schedule.of(blur()).compute_at("blurx", "blury", "y").program
    assert stages.perfect_loops(inside, "blury") == ("x",)
    assert stages.perfect_loops(inside, "blurx") == ("y", "x")
    apart = Schedule.of(matmul()).decompose_reduction("C", "j").program
    assert stages.perfect_loops(apart, "C") == ("j", "k")

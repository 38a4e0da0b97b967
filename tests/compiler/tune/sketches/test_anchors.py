"""Reductions that are worth a tile, and what follows them element by element."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import Tensor, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.anchor_tiles import Anchor
from tandem.compiler.tune.sketches.anchors import anchor_of, tile_anchor
from tandem.compiler.tune.sketches.builder import Builder
from tests.support.compiler.te.nests import nest, stages_of
from tests.support.compiler.te.schedules import agree, matmul
from tests.support.compiler.tune.sketches import built

Options = dict[str, list[Setting]]


def tiled(
    tensor: Tensor, *constants: str, **values: Setting
) -> tuple[Builder, dict[str, str], Options]:
    """The builder behind a tile, all loops, and the options that there were; the program computes
    what it did."""
    start = Schedule.of(tensor)
    builder, asked = built(start, **values)
    builder.constants = frozenset(constants)
    anchor = anchor_of(builder, tensor.name)
    assert anchor is not None, "it is worth a tile"
    tile_anchor(builder, anchor)
    agree(builder.schedule, start)
    loops = {stage: nest(builder.schedule, stage) for stage in stages_of(builder.schedule)}
    return builder, loops, asked


def clipped(rows: int, columns: int, terms: int) -> Tensor:
    sums = matmul(rows, columns, terms)
    return compute((rows, columns), lambda y, x: maximum(sums[y, x], 0.0), "out")


def found(tensor: Tensor, *constants: str) -> Anchor | None:
    builder, _ = built(Schedule.of(tensor))
    builder.constants = frozenset(constants)
    return anchor_of(builder, tensor.name)


def test_what_is_worth_a_tile() -> None:
    same = Anchor("C_sums", "C", (("i", "i"), ("j", "j")))
    assert found(matmul(2, 4, 8)) == same
    # 63 iterations are too few, and so is a stage that reads no element twice.
    assert found(matmul(3, 3, 7)) is None
    a, k = placeholder((8, 16), FLOAT32, "a"), reduce_axis(16, "k")
    assert found(compute((8,), lambda i: sum(a[i, k], k), "t")) is None
    assert found(compute((8, 16), lambda i, j: a[i, j] * 2.0, "t")) is None


def test_the_copy_of_results() -> None:
    builder, _ = built(Schedule.of(matmul(2, 4, 8)))
    anchor_of(builder, "C")
    assert list(allocated(builder.program.body)) == ["C_sums"]


def test_an_operand_that_no_axis_reads_as_vectors() -> None:
    """Both are read at twice an axis, which no packing mends."""
    a, b = placeholder((16, 8), FLOAT32, "a"), placeholder((8, 16), FLOAT32, "b")
    k = reduce_axis(8, "k")
    product = compute((8, 8), lambda i, j: sum(a[i * 2, k] * b[k, j * 2], k), "C")
    assert found(product) is None
    assert found(compute((8, 8), lambda i, j: maximum(product[i, j], 0.0), "out")) is None


def test_a_stage_that_follows() -> None:
    assert found(clipped(2, 4, 8)) == Anchor("C", "out", (("i", "y"), ("j", "x")))
    assert found(clipped(3, 3, 7)) is None


@pytest.mark.parametrize("which", ["turned", "part", "twice", "output"])
def test_stages_that_do_not_follow(which: str) -> None:
    sums = matmul(8, 8, 8)
    match which:
        case "turned":
            tensor = compute((8, 8), lambda i, j: maximum(sums[j, i], 0.0), "out")
        case "part":
            tensor = compute((4, 8), lambda i, j: maximum(sums[i, j], 0.0), "out")
        case "twice":
            other = compute((8, 8), lambda i, j: sums[i, j] * 2.0, "other")
            tensor = compute((8, 8), lambda i, j: other[i, j] + sums[i, j], "out")
        case _:
            # The element beside it is read as well.
            tensor = compute((8, 8), lambda i, j: sums[i, j] + sums[i, 0], "out")
    assert found(tensor) is None


def test_a_tile_of_registers() -> None:
    builder, loops, asked = tiled(clipped(6, 16, 32), s0__tile__1=8, s0__tile__0=2)
    assert loops == {
        "C_init": "x:2 y:3 i:2u j:8v",
        "C": "x:2 y:3 k:32 i:2u j:8v",
        "out": "x:2 y:3 y_t:2u x_t:8v",
    }
    assert builder.owners == {"C": "out", "C_init": "out", "out": "out"}
    assert list(asked)[:3] == ["s0.tile.1", "s0.tile.0", "s0.block"]
    assert asked["s0.tile.1"] == [4, 8, 12, 16]
    assert asked["s0.block"] == ["none", 0, 1]
    assert (asked["s0.read.a0"], asked["s0.read.a1"]) == ([0, 1], [0, 1])


def test_the_names_of_a_copys_decisions() -> None:
    builder, loops, asked = tiled(matmul(6, 16, 32))
    assert builder.owners == {"C_sums": "C", "C_sums_init": "C", "C": "C"}
    assert loops["C"] == "j:4 i:6 i_t:1u j_t:4v"
    assert {name.rsplit(".", 1)[0] for name in asked} >= {"s0.sums", "s0.sums.tile"}


def test_what_is_known_is_packed_for_vectors_of_another_axis() -> None:
    """Results along rows: sums are stored turned, those that follow through a tile of their own."""
    choice: dict[str, Setting] = {"s0__lanes": "i", "s0__tile__0": 4, "s0__tile__1": 4}
    builder, loops, asked = tiled(clipped(8, 8, 8), "A", **choice)
    assert asked["s0.lanes"] == ["i", "j"]
    assert loops == {
        "A_packed": "d0:8 d1:8",
        "C_init": "x:2 y:2 j:4u i:4v",
        "C": "x:2 y:2 k:8 j:4u i:4v",
        "out_tile": "x:2 y:2 x:4u y:4v",
        "out": "x:2 y:2 x_t:4v y_t:4u",
    }
    assert builder.owners["out_tile"] == "out"
    assert builder.owners["A_packed"] == "A_packed"
    # A copy of sums is turned itself.
    choice = {name.replace("s0__", "s0__sums__"): value for name, value in choice.items()}
    _, loops, _ = tiled(matmul(8, 8, 8), "A", **choice)
    assert set(loops) == {"A_packed", "C_sums_init", "C_sums", "C"}


def test_copies_of_what_a_tile_reads() -> None:
    choice: dict[str, Setting] = {"s0__tile__1": 8, "s0__tile__0": 2, "s0__innermost": 1}
    builder, loops, asked = tiled(clipped(6, 16, 32), s0__read__a0=1, **choice)
    assert loops["A_read"] == "y:3 x:2 d0:2 d1:32v"
    assert asked["s0.a0.copy.unroll"] == [0, 1]
    assert builder.owners["A_read"] == "out"
    assert allocated(builder.program.body)["A_read"].shape == (6, 32)
    assert "B_read" not in loops

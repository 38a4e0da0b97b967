"""The loops of anchors by hand: over tiles, over terms, and inside a tile."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.machines.cpu.intrinsics import dot_product
from tandem.compiler.te import Tensor, cast, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.anchor_loops import (
    schedule_kept,
    schedule_out,
    schedule_sums,
    split_out,
)
from tandem.compiler.tune.sketches.anchor_operands import pack, pack_for
from tandem.compiler.tune.sketches.anchor_tiles import Anchor, AnchorTile
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import block_of
from tandem.compiler.tune.sketches.tensor_tiles import TensorTile
from tests.support.compiler.te.nests import nest, stages_of
from tests.support.compiler.te.schedules import agree, matmul
from tests.support.compiler.tune.sketches import built

ANCHOR = Anchor("C", "out", (("i", "y"), ("j", "x")))
STACK = Anchor("C", "out", (("n", "m"), ("i", "y"), ("j", "x")))
LANES = 4


def clipped(rows: int, columns: int, terms: int) -> Tensor:
    sums = matmul(rows, columns, terms)
    return compute((rows, columns), lambda y, x: maximum(sums[y, x], 0.0), "out")


def stacked(count: int, rows: int, columns: int, terms: int) -> Tensor:
    """Several products, of which nothing follows another."""
    a = placeholder((count, rows, terms), FLOAT32, "A")
    b, k = placeholder((count, terms, columns), FLOAT32, "B"), reduce_axis(terms, "k")
    sums = compute(
        (count, rows, columns), lambda n, i, j: sum(a[n, i, k] * b[n, k, j], axis=k), "C"
    )
    return compute((count, rows, columns), lambda m, y, x: maximum(sums[m, y, x], 0.0), "out")


def of_boxes(rows: int, columns: int, height: int, width: int) -> Tensor:
    """Products with two axes of terms."""
    a = placeholder((rows, height, width), FLOAT32, "A")
    b = placeholder((height, width, columns), FLOAT32, "B")
    v, w = reduce_axis(height, "v"), reduce_axis(width, "w")
    sums = compute((rows, columns), lambda i, j: sum(a[i, v, w] * b[v, w, j], axis=(v, w)), "C")
    return compute((rows, columns), lambda y, x: maximum(sums[y, x], 0.0), "out")


def outer(
    tensor: Tensor, tile: AnchorTile, anchor: Anchor = ANCHOR, /, **values: Setting
) -> tuple[Builder, dict[str, int], str, dict[str, list[Setting]]]:
    """The builder behind `split_out`, the axes' extents, the innermost loop and the options."""
    builder, asked = built(Schedule.of(tensor), **values)
    block = block_of(builder.program, anchor.sums)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    return builder, extents, split_out(builder, "s0", anchor, tile, extents), asked


@pytest.mark.parametrize(
    ("registers", "values", "loops", "options"),
    [
        # Which is innermost is decided where tiles are smaller than several axes.
        ({"i": 2, "j": 8}, {}, "x:2 y:3 y_t:2 x_t:8", {"s0.innermost": [0, 1]}),
        ({"i": 2, "j": 8}, {"s0__innermost": 1}, "y:3 x:2 y_t:2 x_t:8", {"s0.innermost": [0, 1]}),
        ({"i": 6, "j": 8}, {}, "y:1 x:2 y_t:6 x_t:8", {}),
        ({"i": 2, "j": 16}, {}, "x:1 y:3 y_t:2 x_t:16", {}),
        ({"i": 6, "j": 16}, {}, "y:1 x:1 y_t:6 x_t:16", {}),
        # No tile is larger than all there is.
        ({"i": 8, "j": 20}, {}, "y:1 x:1 y_t:6 x_t:16", {}),
    ],
)
def test_loops_over_tiles(
    registers: dict[str, int],
    values: dict[str, Setting],
    loops: str,
    options: dict[str, list[Setting]],
) -> None:
    builder, _, at, asked = outer(clipped(6, 16, 5), AnchorTile("j", registers), ANCHOR, **values)
    assert nest(builder.schedule, "out") == loops
    first, second = (each.partition(":")[0] for each in loops.split()[:2])
    assert (builder.outer["out"], at) == ((first, second), second)
    assert asked == options


def test_loops_over_tiles_of_three_axes() -> None:
    tile = AnchorTile("j", {"n": 1, "i": 2, "j": 4})
    builder, _, at, asked = outer(stacked(2, 4, 4, 3), tile, STACK, s0__innermost=0)
    assert nest(builder.schedule, "out") == "y:2 x:1 m:2 m_t:1 y_t:2 x_t:4"
    assert (builder.outer["out"], at) == (("y", "x", "m"), "m")
    assert asked == {"s0.innermost": [0, 1]}


def test_a_stage_that_is_not_there() -> None:
    builder, _ = built(Schedule.of(clipped(6, 16, 5)))
    tile = AnchorTile("j", {"i": 2, "j": 8})
    with pytest.raises(ScheduleError):
        split_out(builder, "s0", Anchor("C", "none", ANCHOR.axes), tile, {"i": 6, "j": 16})


def tiled(
    tensor: Tensor, tile: AnchorTile, anchor: Anchor = ANCHOR, /, **values: Setting
) -> tuple[Builder, dict[str, str], dict[str, list[Setting]]]:
    """The builder behind a tile, all loops, and the options; the program computes what it did."""
    start = Schedule.of(tensor)
    builder, asked = built(start, **values)
    block = block_of(builder.program, anchor.sums)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    turned = tile.vector != anchor.axes[-1][0]
    if turned:
        pack(builder, "s0", block, tile)
        builder.schedule = builder.schedule.cache_write(anchor.out, Scope.LOCAL, "kept")
    at = split_out(builder, "s0", anchor, tile, extents)
    if turned:
        builder.schedule = builder.schedule.compute_at("kept", anchor.out, at)
    builder.schedule = builder.schedule.compute_at(anchor.sums, anchor.out, at)
    schedule_sums(builder, "s0", anchor, tile, LANES, None)
    if turned:
        schedule_kept(builder, "kept", anchor, tile)
    schedule_out(builder, anchor, tile, extents, turned)
    agree(builder.schedule, start)
    loops = {stage: nest(builder.schedule, stage) for stage in stages_of(builder.schedule)}
    return builder, loops, asked


def shape(builder: Builder, stage: str) -> tuple[int, ...]:
    """The shape of a stage that is in registers, before it is cut to what a tile needs of it."""
    found = allocated(builder.program.body)[stage]
    assert found.scope is Scope.LOCAL
    return found.shape


def test_a_tile_in_registers() -> None:
    builder, loops, asked = tiled(clipped(4, 16, 12), AnchorTile("j", {"i": 2, "j": 8}))
    assert loops == {
        "C_init": "x:2 y:2 i:2u j:8v",
        "C": "x:2 y:2 k:12 i:2u j:8v",
        "out": "x:2 y:2 y_t:2u x_t:8v",
    }
    assert shape(builder, "C") == (4, 16)
    assert asked == {"s0.innermost": [0, 1], "s0.unroll": [1, 2, 4, 12]}


def test_terms_that_are_written_out() -> None:
    _, loops, _ = tiled(clipped(4, 16, 12), AnchorTile("j", {"i": 2, "j": 8}), s0__unroll=4)
    assert loops["C"] == "x:2 y:2 k:3 k_w:4u i:2u j:8v"
    _, loops, _ = tiled(clipped(4, 16, 12), AnchorTile("j", {"i": 2, "j": 8}), s0__unroll=12)
    assert loops["C"] == "x:2 y:2 k:12u i:2u j:8v"


def test_several_register_tiles() -> None:
    """Rows of them are around the terms, or around a part of these."""
    tile = AnchorTile("j", {"i": 2, "j": 8}, "i", 2)
    builder, loops, asked = tiled(clipped(4, 16, 12), tile)
    assert loops == {
        "C_init": "y:1 x:2 i:2 i_u:2u j:8v",
        "C": "y:1 x:2 i:2 k:12 i_u:2u j:8v",
        "out": "y:1 x:2 y_t:4 x_t:8v",
    }
    assert shape(builder, "C") == (4, 16)
    assert asked == {"s0.part": [0, 8], "s0.unroll": [1, 2, 4, 12]}
    _, loops, _ = tiled(clipped(4, 8, 16), AnchorTile("j", {"i": 2, "j": 4}, "j", 2), s0__part=8)
    assert loops == {
        "C_init": "x:1 y:2 j:2 i:2u j_u:4v",
        "C": "x:1 y:2 k_p:2 j:2 k:8 i:2u j_u:4v",
        "out": "x:1 y:2 y_t:2u x_t:8v",
    }


def test_parts_of_the_outermost_terms() -> None:
    tile = AnchorTile("j", {"i": 1, "j": 4}, "i", 2)
    _, loops, asked = tiled(of_boxes(2, 4, 9, 2), tile, s0__part=8)
    assert loops["C"] == "y:1 x:1 v_p:2 i:2 v:8 w:2 i_u:1u j:4v"
    assert loops["C_init"] == "y:1 x:1 i:2 i_u:1u j:4v"
    # Of one row two terms or the sixteen of a part.
    assert asked == {"s0.part": [0, 8], "s0.unroll": [1, 2, 16]}


@pytest.mark.parametrize(
    ("terms", "parts"),
    [
        (8, []),
        (9, [0, 8]),
        (64, [0, 8, 16, 32]),
        (257, [0, 8, 16, 32, 64, 128, 256]),
    ],
)
def test_sizes_of_parts(terms: int, parts: list[int]) -> None:
    tile = AnchorTile("j", {"i": 1, "j": 4}, "i", 2)
    builder, _, at, asked = outer(clipped(2, 4, terms), tile)
    builder.schedule = builder.schedule.compute_at("C", "out", at)
    schedule_sums(builder, "s0", ANCHOR, tile, LANES, None)
    assert asked.get("s0.part", []) == parts


def test_vectors_along_rows() -> None:
    """Sums have rows innermost; what follows is kept so, and stored turned."""
    builder, loops, _ = tiled(clipped(8, 12, 3), AnchorTile("i", {"i": 4, "j": 4}))
    assert loops == {
        "A_packed": "d0:8 d1:3",
        "C_init": "x:3 y:2 j:4u i:4v",
        "C": "x:3 y:2 k:3 j:4u i:4v",
        "kept": "x:3 y:2 x:4u y:4v",
        "out": "x:3 y:2 x_t:4v y_t:4u",
    }
    assert shape(builder, "C") == shape(builder, "kept") == (12, 8)


@pytest.mark.parametrize(
    ("rows", "columns", "registers", "out"),
    [
        # Rows of three are stored one by one, and so is what is no whole number of tiles.
        (4, 6, {"i": 4, "j": 3}, "y:1 x:2 y_t:4 x_t:3u"),
        (4, 10, {"i": 4, "j": 4}, "y:1 x:3 y_t:4 x_t:4u"),
        (6, 8, {"i": 4, "j": 4}, "x:2 y:2 y_t:4 x_t:4u"),
    ],
)
def test_rows_that_are_stored_one_by_one(
    rows: int, columns: int, registers: dict[str, int], out: str
) -> None:
    builder, loops, _ = tiled(clipped(rows, columns, 2), AnchorTile("i", registers))
    assert loops["out"] == out
    assert shape(builder, "kept") == (columns, rows)


def test_three_axes() -> None:
    tile = AnchorTile("j", {"n": 1, "i": 2, "j": 4}, "n", 2)
    _, loops, _ = tiled(stacked(2, 4, 4, 2), tile, STACK)
    assert loops == {
        "C_init": "m:1 x:1 y:2 n:2 n_u:1u i:2u j:4v",
        "C": "m:1 x:1 y:2 n:2 k:2 n_u:1u i:2u j:4v",
        "out": "m:1 x:1 y:2 m_t:2 y_t:2u x_t:4v",
    }
    tile = AnchorTile("i", {"n": 2, "i": 4, "j": 4})
    builder, loops, _ = tiled(stacked(2, 4, 8, 2), tile, STACK)
    assert loops["C"] == "m:1 y:1 x:2 k:2 n:2u j:4u i:4v"
    assert loops["kept"] == "m:1 y:1 x:2 m:2u x:4u y:4v"
    assert loops["out"] == "m:1 y:1 x:2 m_t:2u x_t:4v y_t:4u"
    assert shape(builder, "kept") == shape(builder, "C") == (2, 8, 4)
    # Several register tiles of it along an axis that is neither.
    builder, loops, _ = tiled(
        stacked(2, 4, 8, 2), AnchorTile("i", {"n": 1, "i": 4, "j": 4}, "n", 2), STACK
    )
    assert loops["kept"] == "m:1 y:1 x:2 m:2 x:4u y:4v"
    assert loops["out"] == "m:1 y:1 x:2 m_t:2 x_t:4v y_t:4u"


def test_tiles_of_an_intrinsic() -> None:
    """Eight results of twelve terms each, four by four."""
    dot = dot_product("dot", INT8, lanes=4)
    x, w = placeholder((4, 12), INT8, "x"), placeholder((8, 12), INT8, "w")
    k = reduce_axis(12, "k")
    sums = compute(
        (4, 8), lambda i, j: sum(cast(x[i, k], INT32) * cast(w[j, k], INT32), axis=k), "C"
    )
    start = Schedule.of(compute((4, 8), lambda y, x: maximum(sums[y, x], 0), "out"))
    builder, asked = built(start)
    tile, tensor = AnchorTile("j", {"i": 2, "j": 8}), TensorTile(dot, "j", "k", 4, 4)
    pack_for(builder, "s0", block_of(builder.program, "C"), tensor)
    at = split_out(builder, "s0", ANCHOR, tile, {"i": 4, "j": 8})
    builder.schedule = builder.schedule.compute_at("C", "out", at)
    schedule_sums(builder, "s0", ANCHOR, tile, LANES, tensor)
    schedule_out(builder, ANCHOR, tile, {"i": 4, "j": 8}, False)
    agree(builder.schedule, start)
    # Three steps of four terms; of four results each, which are two in each of two rows.
    assert asked["s0.unroll"] == [1, 3]
    assert nest(builder.schedule, "C_init") == "x:1 y:2 i:2u j:2u j_lane:4v"
    assert nest(builder.schedule, "out") == "x:1 y:2 y_t:2u x_t:8v"
    assert shape(builder, "C") == (4, 8)

"""Schedules of convolutions: the loops of each stage, by hand, and results, against ONNX's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu
from tandem.compiler.machines.cpu.templates.conv2d_schedule import (
    conv_in_tiles,
    schedule_packed_conv2d,
)
from tandem.compiler.machines.cpu.templates.layer import PackedLayer
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.te import Tensor, compute
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated
from tests.support.compiler.machines.accelerator.templates import packed_layers
from tests.support.compiler.machines.cpu.emitted import AVX2
from tests.support.compiler.machines.cpu.native import HOST
from tests.support.compiler.operators.operators import Array, given_as, numbers, onnx, same
from tests.support.compiler.te.nests import nest, stages_of

SAME = (1, 1, 1, 1)
WEIGHTS = (16, 4, 3, 3)
WHOLE = ("conv_sum_init", "conv_sum", "conv_tile", "conv")
ROWS_OF_SEVEN = Tile(16, 2, 7)


def arrays(image: tuple[int, ...], weights: tuple[int, ...], dtype: str) -> dict[str, Array]:
    kind = dtype if dtype == "float32" else "int8"
    return {"X": numbers(1, image, dtype), "W": numbers(2, weights, kind)}


def layer(
    image: tuple[int, ...],
    tile: Tile,
    dtype: str = "float32",
    weights: tuple[int, ...] = WEIGHTS,
    **options: Any,
) -> PackedLayer:
    """A convolution for a processor with AVX2."""
    given = arrays(image, weights, dtype)
    return packed_layers.packed(Conv2dOnCpu, given, AVX2, tile=tile, **options)


def scheduled(conv: PackedLayer) -> Schedule:
    return schedule_packed_conv2d(conv, conv.output)


def test_tiles_of_whole_rows_are_transposed_in_registers() -> None:
    """Four rows of 14 pixels: two tiles each way, which are vectors of pixels in the output."""
    schedule = scheduled(layer((1, 4, 6, 16), ROWS_OF_SEVEN))
    assert stages_of(schedule) == [*WHOLE]
    around = "task:2p column:2 n:1"
    assert nest(schedule, "conv_sum_init") == f"{around} cb:1 y:2u x:7u l:16v"
    assert nest(schedule, "conv_sum") == f"{around} cb:1 ci:4 ky:3 kx:3 y:2u x:7u l:16v"
    assert nest(schedule, "conv_tile") == f"{around} block:1 y:2u x:7u l:16v"
    assert nest(schedule, "conv") == "task:2p column:2 ty:2u tx:7v l:16u"
    tile = allocated(schedule.program.body)["conv_tile"]
    # With channels last.
    assert (tile.shape, tile.scope.value) == ((1, 4, 14, 16), "local")


@pytest.mark.parametrize(
    ("image", "weights", "tile", "loops"),
    [
        ((1, 4, 6, 16), WEIGHTS, Tile(16, 2, 2), "task:2p column:7 l:16 ty:2u tx:2u"),
        ((1, 4, 6, 6), WEIGHTS, Tile(16, 2, 4), "task:2p column:1 ty:2u tx:4v l:16u"),
        ((1, 4, 6, 8), WEIGHTS, Tile(16, 2, 4), "task:2p column:2 l:16 ty:2u tx:4u"),
        ((1, 4, 6, 6), (24, 4, 3, 3), Tile(16, 2, 4), "task:4p column:1 l:16 ty:2u tx:4u"),
        ((2, 4, 6, 6), WEIGHTS, Tile(16, 2, 4), "task:4p column:1 ty:2u tx:4v l:16u"),
        ((1, 4, 6, 6), WEIGHTS, Tile(8, 4, 4), "task:2p column:1 ty:4u tx:4v l:8u"),
    ],
)
def test_other_tiles_are_copied(
    image: tuple[int, ...], weights: tuple[int, ...], tile: Tile, loops: str
) -> None:
    """Element by element, where a tile is short, or not whole in columns or channels."""
    assert nest(scheduled(layer(image, tile, weights=weights)), "conv") == loops


def test_a_last_tile_of_fewer_rows_has_its_own_code() -> None:
    image, tile = (2, 3, 9, 11), Tile(16, 2, 3)
    schedule = scheduled(layer(image, tile, weights=(17, 3, 3, 3), padding=SAME))
    assert stages_of(schedule) == ["conv_pad", *WHOLE, *(f"{each}_tail" for each in WHOLE)]
    # Two images of two blocks of channels; nine rows are four tiles and one more.
    for end, rows in (("", 4), ("_tail", 1)):
        around = f"task:4p row:{rows} column:4"
        assert nest(schedule, f"conv{end}") == f"{around} l:16 ty:2u tx:3u"
        sums = f"{around} n:1 cb:1 ci:3 ky:3 kx:3 y:2u x:3u l:16v"
        assert nest(schedule, f"conv_sum{end}") == sums
    # A tile of more rows than there are is the only one.
    alone = scheduled(layer((1, 4, 4, 6), Tile(16, 3, 4)))
    assert stages_of(alone) == ["conv_pad", *WHOLE]
    assert nest(alone, "conv") == "task:1p column:1 ty:3u tx:4v l:16u"


def test_dot_products() -> None:
    schedule = scheduled(layer((1, 6, 6, 6), Tile(16, 2, 4), "uint8", (16, 6, 3, 3)))
    around = "task:2p column:1 n:1 cb:1"
    # Two vectors of eight sums, of two terms of four channels.
    assert nest(schedule, "conv_sum") == f"{around} ci:2 ky:3 kx:3 y:2u x:4u vector:2u"
    assert nest(schedule, "conv_sum_init") == f"{around} y:2u x:4u vector:2u lane:8v"


def test_padded_images() -> None:
    """As large as whole tiles need; large ones have planes on threads."""
    small = scheduled(layer((2, 4, 6, 16), ROWS_OF_SEVEN, padding=SAME))
    assert nest(small, "conv_pad") == "plane:8 y:8 x:23v"
    large = scheduled(layer((1, 4, 100, 110), ROWS_OF_SEVEN, padding=SAME))
    assert nest(large, "conv_pad").startswith("plane:4p ")
    assert "conv_pad" not in stages_of(scheduled(layer((2, 4, 6, 16), ROWS_OF_SEVEN)))


@pytest.mark.parametrize(
    ("columns", "loops", "rest"),
    [
        (10, "x:12v", None),
        (14, "x:16v", None),
        (16, "x:1 x_v:16v", "x:2v"),
        (30, "x:2 x_v:16v", None),
        (33, "x:2 x_v:16v", "x:3v"),
    ],
)
def test_padded_images_of_dot_products(columns: int, loops: str, rest: str | None) -> None:
    """Vectors of 16 pixels, whose four channels are neighbours, and what is left over."""
    tile = Tile(16, 2, 1)
    schedule = scheduled(layer((1, 6, 6, columns), tile, "uint8", (16, 6, 3, 3), padding=SAME))
    assert nest(schedule, "conv_pad") == f"plane:2 y:8 {loops} k:4u"
    assert ("conv_pad_tail" in stages_of(schedule)) is (rest is not None)
    if rest is not None:
        assert nest(schedule, "conv_pad_tail") == f"plane:2 y:8 {rest} k:4u"


def test_weights_that_are_packed_in_the_same_program() -> None:
    schedule = scheduled(layer((1, 4, 6, 6), Tile(16, 2, 4), constant=False))
    assert nest(schedule, "conv_weight").endswith("l:16v")
    assert "conv_weight" not in stages_of(scheduled(layer((1, 4, 6, 6), Tile(16, 2, 4))))


def with_residual(conv: PackedLayer) -> Tensor:
    """The convolution's output, a block's other input and a number for each column."""
    residual, columns = given_as("R", np.zeros(conv.output.shape, "float32")), conv.output.shape[3:]
    scale = given_as("S", np.zeros(columns, "float32"))

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        return (conv.output[n, c, y, x] + residual[n, c, y, x]) * scale[x]

    return compute(conv.output.shape, element, "added", [*"ncyx"])


def test_other_operands_are_transposed_with_a_tile() -> None:
    conv = layer((1, 4, 6, 16), ROWS_OF_SEVEN, weights=(32, 4, 3, 3))
    schedule = schedule_packed_conv2d(conv, with_residual(conv))
    copy = "R_in_added_tile"
    assert nest(schedule, copy) == "task:4p column:2 d0:1 d2:2u vector:1u l:16v d3:7u"
    assert allocated(schedule.program.body)[copy].shape == (1, 4, 14, 32)
    assert "conv" not in stages_of(schedule)
    # Not of another shape, nor where rows are not whole.
    assert not any(each.startswith("S_in") for each in stages_of(schedule))
    short = layer((1, 4, 6, 16), Tile(16, 2, 3))
    stages = stages_of(schedule_packed_conv2d(short, with_residual(short)))
    assert not any("_in_" in name for name in stages)
    wide = layer((1, 4, 6, 16), Tile(32, 2, 7), weights=(32, 4, 3, 3))
    nested = nest(schedule_packed_conv2d(wide, with_residual(wide)), copy)
    assert nested == "task:2p column:2 d0:1 d2:2u vector:2u l:16v d3:7u"


def test_only_the_inputs_that_a_tile_reads_are_transposed() -> None:
    """An image of the output's shape is none of them."""
    conv = layer((1, 16, 6, 14), Tile(16, 2, 7), weights=(16, 16, 1, 1))
    assert conv.data.shape == conv.output.shape
    assert stages_of(scheduled(conv)) == [*WHOLE]


@pytest.mark.parametrize(
    ("image", "tile", "dtype"),
    [
        ((2, 4, 3, 9), Tile(16, 2, 4), "float32"),
        ((1, 4, 3, 16), Tile(16, 2, 3), "uint8"),
    ],
)
def test_results(image: tuple[int, ...], tile: Tile, dtype: str) -> None:
    given = arrays(image, WEIGHTS, dtype)
    conv = packed_layers.packed(Conv2dOnCpu, given, HOST, tile=tile, padding=SAME)
    found = packed_layers.run(Conv2dOnCpu, conv, given, HOST)
    wide = (given[name].astype("float64") for name in "XW")
    wanted = onnx("Conv", *wide, None, pads=SAME).astype(found.dtype)
    same(found, wanted, tolerance=1e-4)


def test_results_with_a_residual() -> None:
    given = arrays((1, 4, 6, 16), WEIGHTS, "float32")
    conv = packed_layers.packed(Conv2dOnCpu, given, HOST, tile=ROWS_OF_SEVEN)
    residual, scale = numbers(3, conv.output.shape), numbers(4, conv.output.shape[3:])
    run = partial(packed_layers.run, Conv2dOnCpu, conv)
    found = run(given | {"R": residual, "S": scale}, HOST, with_residual(conv))
    wanted = onnx("Conv", given["X"], given["W"], None)
    same(found, (wanted + residual) * scale, tolerance=1e-4)


def test_what_follows_is_element_by_element() -> None:
    conv = layer((1, 4, 6, 16), ROWS_OF_SEVEN)
    axis = te.reduce_axis(16, "r")
    total = compute((4, 14), lambda y, x: te.sum(conv.output[0, axis, y, x], axis), "total")
    after = compute((1, 1, 4, 14), lambda n, c, y, x: total[y, x] + 1.0, "after")
    with pytest.raises(ScheduleError, match="total is a reduction"):
        conv_in_tiles(conv, after)

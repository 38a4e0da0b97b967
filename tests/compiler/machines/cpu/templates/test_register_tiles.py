"""Register tiles fit, and are the ones that one would choose by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, DType
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, TileSpace, best_tile


def test_rows_of_networks() -> None:
    wide, narrow = Simd(64, 32), Simd(32, 16)
    assert best_tile(64, 56, 56, FLOAT32, wide) == Tile(32, 1, 8)
    assert best_tile(512, 7, 7, FLOAT32, wide) == Tile(32, 2, 7)
    assert best_tile(512, 1, 1, FLOAT32, wide) == Tile(128, 1, 1)
    assert best_tile(64, 56, 56, FLOAT32, narrow).columns in (4, 7, 8)


@given(channels=st.integers(1, 70), rows=st.integers(1, 60), columns=st.integers(1, 60))
@pytest.mark.parametrize("simd", [Simd(64, 32), Simd(32, 16), Simd(16, 16)])
def test_fit_in_registers(channels: int, rows: int, columns: int, simd: Simd) -> None:
    tile = best_tile(channels, rows, columns, FLOAT32, simd)
    vectors = tile.channels // simd.lanes(FLOAT32)
    assert 1 <= vectors * tile.rows * tile.columns <= simd.registers - vectors - 1
    assert tile.rows <= rows
    assert tile.columns <= columns


@pytest.mark.parametrize(
    ("name", "dtype", "tile"),
    [
        ("cortex-a72", FLOAT32, Tile(16, 1, 4)),
        ("neoverse-n1", FLOAT32, Tile(16, 1, 4)),
        ("cortex-a72", INT32, Tile(16, 1, 4)),
        ("cortex-a55", INT32, Tile(8, 2, 4)),
        ("neoverse-n1", INT32, Tile(8, 2, 4)),
        ("rv64gc", FLOAT32, Tile(4, 1, 4)),
        ("rv64gc", INT32, Tile(2, 1, 7)),
    ],
)
def test_tiles_of_other_processors(name: str, dtype: DType, tile: Tile) -> None:
    """Tiles whose sums and operands fit, and which keep multipliers busy, by LLVM's models."""
    simd = Simd.of(PROCESSORS[name])
    dot = simd.layer_dot(INT8, INT8, dtype)
    assert best_tile(128, 28, 28, dtype, simd, dot) == tile


@given(
    channels=st.integers(1, 70), rows=st.integers(1, 60), columns=st.integers(1, 60), data=st.data()
)
@pytest.mark.parametrize("name", ["cortex-a72", "neoverse-n1"])
def test_sums_and_data_of_dot_products_fit(
    name: str, channels: int, rows: int, columns: int, data: st.DataObject
) -> None:
    simd = Simd.of(PROCESSORS[name])
    dot = simd.dot(INT8, INT8, INT32)
    assert dot is not None
    space = TileSpace.of((channels, rows, columns), INT32, simd, dot=dot)
    choices = space.knobs.choices()
    fitting = choices.where(space.fits(choices))
    tile = Tile.of(fitting.choice(data.draw(st.integers(0, len(fitting) - 1))))
    vectors, pixels = tile.channels // simd.lanes(INT32), tile.rows * tile.columns
    assert vectors * pixels + vectors + pixels < simd.registers


def test_threads_share_the_channels_of_a_row() -> None:
    """One thread takes all 128 channels of a vector at once; of two, each takes half."""
    simd, best = Simd(64, 32), []
    for threads in (1, 2):
        space = TileSpace.of((128, 1, 1), FLOAT32, simd, threads)
        choices = space.knobs.choices()
        best.append(Tile.of(choices.choice(int(np.argmin(space.costs(choices))))).channels)
    assert best == [128, 64]


def test_threads_that_share_nearly_evenly_take_the_tile_of_one() -> None:
    """25 rows of DS-CNN's pointwise layers: 13 for one of two threads are even enough; of 3 rows,
    which would be 2 for one, each thread takes half of the channels."""
    best = {}
    for rows in (25, 3):
        for threads in (1, 2):
            space = TileSpace.of((64, rows, 5), FLOAT32, Simd(64, 32), threads)
            choices = space.knobs.choices()
            fitting = choices.where(space.fits(choices))
            best[rows, threads] = Tile.of(fitting.choice(int(np.argmin(space.costs(fitting)))))
    assert best[25, 1] == best[25, 2] == Tile(64, 1, 5)
    assert best[3, 1].channels == 64
    assert best[3, 2].channels == 32


def test_rows_of_tiles_are_tasks_unless_the_last_is_shorter() -> None:
    """7 rows by ones and by twos, of two blocks of 64 channels: 14 tasks, and two."""
    space = TileSpace.of((128, 7, 7), FLOAT32, Simd(64, 32), 4)
    choices = space.knobs.choices({"channels": (64,), "rows": (1, 2), "columns": (1,)})
    assert space.imbalance(choices).tolist() == [pytest.approx(16 / 14), 2]

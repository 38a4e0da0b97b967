"""Register tiles fit, and are the ones that one would choose by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir.dtypes import FLOAT32
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


def test_threads_share_the_channels_of_a_row() -> None:
    """One thread takes all 128 channels of a vector at once; of two, each takes half."""
    simd, best = Simd(64, 32), []
    for threads in (1, 2):
        space = TileSpace.of((128, 1, 1), FLOAT32, simd, threads)
        choices = space.knobs.choices()
        best.append(Tile.of(choices.choice(int(np.argmin(space.costs(choices))))).channels)
    assert best == [128, 64]


def test_rows_of_tiles_are_tasks_unless_the_last_is_shorter() -> None:
    """7 rows by ones and by twos, of two blocks of 64 channels: 14 tasks, and two."""
    space = TileSpace.of((128, 7, 7), FLOAT32, Simd(64, 32), 4)
    choices = space.knobs.choices({"channels": (64,), "rows": (1, 2), "columns": (1,)})
    assert space.imbalance(choices).tolist() == [pytest.approx(16 / 14), 2]

"""The tiles of products, at the borders between sizes."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT16, INT8, DType
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.gpu.launch import BARRIER
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of

TOGETHER = BARRIER
"""Any intrinsic: only whether there is one counts."""


def product(rows: int, columns: int, batch: int = 1) -> Product:
    return Product("p", "l", "r", batch, rows, columns, 64)


def test_threads_and_sides_of_a_tile() -> None:
    tile = Tile(64, 32, 16, 4, 2)
    assert tile.threads == 16 * 16
    assert tile.sides == (64, 32, 16)
    assert (tile.slots, tile.warps) == (2, False)


@pytest.mark.parametrize(
    ("rows", "columns", "batch", "side"),
    [
        # 64 blocks of whole tiles are enough, 63 are not.
        *((1024, 1024, 1, 128), (1024, 1023, 1, 64), (128, 128, 64, 128), (128, 128, 63, 64)),
        *((512, 512, 1, 64), (512, 511, 1, 32), (64, 64, 64, 64), (64, 64, 63, 32)),
        # Of small tiles one block is enough, and the smallest are for what has none.
        *((32, 32, 1, 32), (32, 31, 1, 16), (31, 4096, 1, 16), (16, 16, 1, 16), (1, 1, 1, 16)),
    ],
)
def test_the_largest_tile_that_leaves_enough_blocks(
    rows: int, columns: int, batch: int, side: int
) -> None:
    own = {128: 8, 64: 4, 32: 2, 16: 1}[side]
    assert tile_of(product(rows, columns, batch), GpuMachine()) == Tile(side, side, 16, own, own)


def test_threads_that_a_block_may_have() -> None:
    for threads, own in ((256, 8), (255, 16), (64, 16), (63, 32)):
        machine = GpuMachine(threads=threads)
        assert tile_of(product(1024, 1024), machine) == Tile(128, 128, 16, own, own)


@pytest.mark.parametrize(("dtype", "depth"), [(FLOAT16, 32), (INT8, 64)])
def test_warps_multiply_together_where_both_can(dtype: DType, depth: int) -> None:
    def of(rows: int, together: PrimFunc | None, machine: GpuMachine) -> Tile:
        return tile_of(
            Product(
                *("p", "l", "r", 1, rows, rows, 64),
                together=together,
                factors=(dtype, dtype),
            ),
            machine,
        )

    assert of(1024, TOGETHER, nvidia_gpu()) == Tile(128, 128, depth, 8, 8, warps=True)
    assert of(32, TOGETHER, nvidia_gpu()) == Tile(32, 32, depth, 2, 2, warps=True)
    # Small tiles, products without such an intrinsic, and machines without.
    assert of(31, TOGETHER, nvidia_gpu()) == Tile(16, 16, 16, 1, 1)
    assert of(1024, None, nvidia_gpu()) == Tile(128, 128, 16, 8, 8)
    assert of(1024, TOGETHER, GpuMachine()) == Tile(128, 128, 16, 8, 8)

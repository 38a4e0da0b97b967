"""What is said of products that no warp multiplies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of
from tandem.compiler.machines.gpu.schedules.why_alone import WhyAlone, multiplication
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS

HALVES = Product(
    *("p", "l", "r", 2, 64, 64, 64),
    together=WARP_PRODUCTS[FLOAT16, FLOAT16],
    factors=(FLOAT16, FLOAT16),
)
MIXED = replace(HALVES, together=None, factors=(FLOAT16, FLOAT32))
MACHINE = nvidia_gpu()


@pytest.mark.parametrize(
    ("product", "tile", "machine", "why"),
    [
        (HALVES, None, MACHINE, None),
        (HALVES, None, GpuMachine(), WhyAlone.MACHINE),
        (MIXED, None, MACHINE, WhyAlone.FACTORS),
        (replace(HALVES, rows=31), None, MACHINE, WhyAlone.SMALL),
        (replace(HALVES, columns=31), None, MACHINE, WhyAlone.SMALL),
        (HALVES, Tile(16, 8, 8, 2, 2, warps=True), MACHINE, WhyAlone.TILE),
        (HALVES, Tile(16, 8, 32, 2, 2), MACHINE, WhyAlone.CHOSEN),
    ],
)
def test_reasons(
    product: Product, tile: Tile | None, machine: GpuMachine, why: WhyAlone | None
) -> None:
    found = multiplication(product, tile or tile_of(product, machine), machine)
    assert found.why is why


def test_texts() -> None:
    found = multiplication(MIXED, tile_of(MIXED, MACHINE), MACHINE)
    assert str(found) == (
        "2 of 64 x 64 x 64, float16 by float32 in float32, tiles of 32 x 32, "
        "by threads: no product of a warp has such factors"
    )
    assert str(multiplication(HALVES, tile_of(HALVES, MACHINE), MACHINE)).endswith(
        "by warps: mma_float16_float16"
    )

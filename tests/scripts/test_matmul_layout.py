"""Tiles and addresses of products, by hand, and matrices through memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import AssemblyError
from tandem.hw.isa import MicroOp, pack_uops
from tandem.hw.topology import MemoryId
from tandem.scripts.matmul_layout import MatmulLayout, Tiles, choose_tiles

TINY = load_config("tiny")
"""Batch 1, blocks of 4 x 4; elements of INP and OUT have 4 bytes, of WGT 16."""


@pytest.mark.parametrize("name", ["tiny", "pynq", "small8", "batch2", "ultra96"])
def test_no_other_tiles_load_less(name: str) -> None:
    """Of all powers of two that fit halves of the memories."""
    config = load_config(name)
    acc, inp, wgt = (
        config.depth(memory) // 2 for memory in (MemoryId.ACC, MemoryId.INP, MemoryId.WGT)
    )
    found = choose_tiles(config)
    assert found.rows * found.columns <= acc
    assert found.rows * found.depth <= inp
    assert found.columns * found.depth <= wgt
    assert 4 * found.depth <= config.depth(MemoryId.UOP)
    a, b = (config.element_bytes(memory) for memory in (MemoryId.INP, MemoryId.WGT))
    powers = [1 << bit for bit in range(14)]
    least = min(
        a / columns + b / rows
        for rows, columns in product(powers, powers)
        if rows * columns <= acc and rows <= inp and columns <= wgt
    )
    assert a / found.columns + b / found.rows == least
    # No chunk can be deeper.
    deeper = found.depth + 1
    assert (
        found.rows * deeper > inp
        or found.columns * deeper > wgt
        or 4 * deeper > config.depth(MemoryId.UOP)
    )


def test_tiles_of_a_small_machine() -> None:
    """Halves of 16 accumulators, 16 inputs and 8 weights: 8 x 2, as 4/2 + 16/8 are the least."""
    assert choose_tiles(TINY) == Tiles(8, 2, 2)
    # Half of two weights is one column.
    assert choose_tiles(TINY.replace(log_wgt_buffer=5)) == Tiles(16, 1, 1)


def test_micro_ops_that_are_too_few() -> None:
    few = TINY.replace(name="few", log_uop_buffer=3)
    with pytest.raises(
        AssemblyError,
        match=r"^configuration few: 2 micro-ops are too few for a .* product; it takes 4$",
    ):
        choose_tiles(few)
    assert choose_tiles(TINY.replace(log_uop_buffer=4)).depth == 1


UOPS = (MicroOp(1), MicroOp(2))
LAYOUT = MatmulLayout.of(TINY, 3, 8, 12, UOPS)


def test_addresses() -> None:
    """3 x 2 x 3 elements: A has 36 bytes, B 96 and C 24, each on a page."""
    assert (LAYOUT.rows, LAYOUT.columns, LAYOUT.depth) == (3, 2, 3)
    assert LAYOUT.uop_address == 4096
    assert LAYOUT.a_address == 8192
    assert (LAYOUT.b_address, LAYOUT.c_address, LAYOUT.size) == (12288, 16384, 20480)
    assert LAYOUT.a_element(2, 1) == 2048 + 2 * 3 + 1
    assert LAYOUT.b_element(1, 2) == 768 + 1 * 3 + 2
    assert LAYOUT.c_element(2, 1) == 4096 + 2 * 2 + 1
    long = MatmulLayout.of(TINY, 1025, 4, 4, (MicroOp(0),) * 1025)
    assert (long.a_address, long.b_address, long.c_address) == (12288, 20480, 24576)
    assert long.size == 32768


def test_elements_that_are_larger_than_pages() -> None:
    """A block of WGT has 128 x 128 bytes."""
    wide = HardwareConfig(log_block_in=7, log_block_out=7, log_wgt_buffer=18)
    assert MatmulLayout.of(wide, 1, 128, 128, UOPS).uop_address == 128 * 128


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 4, 4), "m is 0: it must be a positive multiple of 1"),
        ((1, 6, 4), "n is 6: it must be a positive multiple of 4"),
        ((1, 4, -4), "k is -4: it must be a positive multiple of 4"),
        ((1, 4, 2), "k is 2: it must be a positive multiple of 4"),
    ],
)
def test_sizes_that_are_no_multiples(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(AssemblyError, match=f"^{message}$"):
        MatmulLayout.of(TINY, *sizes, UOPS)


def test_matrices_in_memory() -> None:
    """Each element of A and B where its block is, row by row; of C likewise."""
    config = load_config("batch2")
    batch, block = config.batch, config.block_in
    layout = MatmulLayout.of(config, 2 * batch, 3 * block, 2 * block, UOPS)
    random = np.random.default_rng(5)
    a = random.integers(-128, 128, (2 * batch, 2 * block), np.int8)
    b = random.integers(-128, 128, (3 * block, 2 * block), np.int8)
    image = layout.image(a, b)
    assert image.size == layout.size
    words = pack_uops(config, UOPS)
    assert image[layout.uop_address :][: len(words)].tobytes() == words
    memory = image.view(np.int8)
    for row, column in ((0, 0), (batch + 1, block + 3), (2 * batch - 1, 2 * block - 1)):
        element = (row // batch) * 2 + column // block
        inner = (row % batch) * block + column % block
        assert memory[layout.a_address + element * batch * block + inner] == a[row, column]
        element = (row // block) * 2 + column // block
        inner = (row % block) * block + column % block
        assert memory[layout.b_address + element * block * block + inner] == b[row, column]
    assert not image[: layout.uop_address].any()
    assert not image[layout.c_address :].any()
    memory[layout.c_address :][: 6 * batch * block] = random.integers(-128, 128, 6 * batch * block)
    result = layout.result(image)
    assert result.shape == (2 * batch, 3 * block)
    at = ((batch + 1) // batch * 3 + 2) * batch * block + 1 * block + 5
    assert result[batch + 1, 2 * block + 5] == memory[layout.c_address + at]

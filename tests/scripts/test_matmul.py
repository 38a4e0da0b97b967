"""`scripts.matmul`: the hand-written product, against NumPy and in every order of execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import AssemblyError
from tandem.hw.isa import Finish, validate, work_of
from tandem.hw.topology import MemoryId
from tandem.hw.vta_rules import vta_warnings
from tandem.scripts.matmul import matmul_program
from tandem.scripts.matmul_layout import Int8, Tiles, choose_tiles
from tests.support.sim.reference import run_shuffled

PRESETS = ("batch2", "big32", "block4", "de10", "pynq", "small8", "tiny", "ultra96")
TINY = load_config("tiny")


def _matrices(config: HardwareConfig, m: int, n: int, k: int, seed: int) -> tuple[Int8, Int8]:
    """Random A and B of m x k and n x k blocks, extremes included."""
    random = np.random.default_rng(seed)
    a = random.integers(-128, 128, (m * config.batch, k * config.block_in), dtype=np.int8)
    b = random.integers(-128, 128, (n * config.block_out, k * config.block_in), dtype=np.int8)
    a[0], b[0] = -128, -128
    return a, b


def _product(a: Int8, b: Int8) -> Int8:
    return (a.astype(np.int64) @ b.astype(np.int64).T).astype(np.int8)


@given(
    m=st.integers(1, 20), n=st.integers(1, 5), k=st.integers(1, 5), seed=st.integers(0, 2**32 - 1)
)
def test_equal_to_numpy_in_any_order(m: int, n: int, k: int, seed: int) -> None:
    a, b = _matrices(TINY, m, n, k, seed)
    program, layout = matmul_program(TINY, a.shape[0], b.shape[0], a.shape[1])
    validate(program)
    assert not vta_warnings(program)
    after = run_shuffled(program, layout.image(a, b), seed)
    np.testing.assert_array_equal(layout.result(after), _product(a, b))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset(name: str) -> None:
    config = load_config(name)
    tile = choose_tiles(config)
    assert 2 * tile.rows * tile.columns <= config.depth(MemoryId.ACC)
    assert 2 * tile.rows * tile.depth <= config.depth(MemoryId.INP)
    assert 2 * tile.columns * tile.depth <= config.depth(MemoryId.WGT)
    # Whole tiles and ragged ones in each direction, more of them than halves of a memory.
    m = config.batch * (2 * tile.rows + 1)
    n = config.block_out * (tile.columns + 1)
    k = config.block_in * (2 * tile.depth + 1)
    program, _ = matmul_program(config, m, n, k)
    validate(program)
    assert work_of(program).gemm_uops * config.macs == m * n * k
    assert not vta_warnings(program)
    assert program[-1] == Finish()


def test_the_default_machines_tiles() -> None:
    assert choose_tiles(HardwareConfig()) == Tiles(rows=128, columns=8, depth=8)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 8, 8), "m is 5: it must be a positive multiple of 2"),
        ((4, 24, 8), "n is 24: it must be a positive multiple of 16"),
        ((4, 16, -16), "k is -16: it must be a positive multiple of 16"),
        ((0, 16, 16), "m is 0"),
    ],
)
def test_sizes_that_do_not_fit_the_array(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(AssemblyError, match=message):
        matmul_program(load_config("batch2"), *sizes)


def test_too_few_micro_ops() -> None:
    config = HardwareConfig(log_uop_buffer=3)
    with pytest.raises(AssemblyError, match="2 micro-ops are too few"):
        choose_tiles(config)

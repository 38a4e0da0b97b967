"""Max pooling is exact, and never loads padding, for random windows, tiles and machines."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CapacityError, TensorError
from compiler.ir.dtypes import INT8, INT32
from compiler.lower.accelerator.commands import Compute, Copy
from compiler.operators.accelerator.epilogue import Pass
from compiler.operators.accelerator.max_pool import (
    PackedMaxPool,
    max_pool_schedule,
    max_pool_tile,
    packed_max_pool,
)
from compiler.operators.accelerator.tiles import Tile
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp
from hw.memories import MemoryId
from tests.support.accelerator_operators import drawn_size, machine
from tests.support.alu_passes import Wide, draw_passes, draw_tensor, low_bytes, passed
from tests.support.random_operators import random_tests
from tests.support.streams import Array, run_schedule, stream_of

TINY = machine("tiny")


def _pooled(values: Array, pool: PackedMaxPool) -> Wide:
    """Window by window."""
    data = values.astype(np.int64)
    found = np.empty(pool.maxima.shape, dtype=np.int64)
    places = [
        [
            [
                place
                for k in range(window.kernel)
                if 0
                <= (place := i * window.stride + k * window.dilation - window.before)
                < window.extent
            ]
            for i in range(window.count)
        ]
        for window in (pool.rows, pool.columns)
    ]
    for y, rows in enumerate(places[0]):
        for x, columns in enumerate(places[1]):
            found[:, :, y, x] = data[:, :, rows][:, :, :, columns].max(axis=(2, 3))
    return found


def _drawn_pool(
    rng: np.random.Generator, config: HardwareConfig, threads: int
) -> tuple[PackedMaxPool, Array, int]:
    """Windows that all see data, and threads of which each has room for one."""
    while True:
        n, c, h, w = (drawn_size(rng, most) for most in (2, 4, 9, 8))
        dilation = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        kernel = [
            int(rng.integers(1, min(3, (extent - 1) // apart + 1) + 1))
            for extent, apart in zip((h, w), dilation, strict=True)
        ]
        # The first and the last window keep a tap on the image, at least.
        most = [size - 1 for size in kernel]
        data, values = draw_tensor(rng, (n, c, h, w, config.batch, config.block_out), INT8, "data")
        pool = packed_max_pool(
            data,
            kernel,
            strides=[int(rng.integers(1, 4)) for _ in range(2)],
            padding=[int(rng.integers(0, each + 1)) for each in (*most, *most)],
            dilation=dilation,
            ceil_mode=bool(rng.random() < 0.5),
        )
        window = 1 + math.prod(
            apart * (size - 1) + 1 for apart, size in zip(dilation, kernel, strict=True)
        )
        threads = min(threads, config.depth(MemoryId.ACC) // window)
        if threads:
            return pool, values, threads


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    rng = np.random.default_rng(seed)
    pool, values, threads = _drawn_pool(rng, config, threads)
    tile = max_pool_tile(pool, config, threads)
    tile = replace(
        tile,
        oc=drawn_size(rng, tile.oc),
        y=drawn_size(rng, tile.y),
        x=drawn_size(rng, tile.x),
        along=str(rng.choice([tile.along, "oc", "y", "x"])),
    )
    schedule = max_pool_schedule(pool, tile, AcceleratorTarget.of(config))
    found = run_schedule(schedule, config, {"data": values}, engine)
    np.testing.assert_array_equal(found, _pooled(values, pool), f"{pool.rows} {tile}")


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(_check, few=16)


@pytest.mark.parametrize("config", ["small8", "tall"])
def test_passes_follow(config: str) -> None:
    chosen = machine(config)
    rng = np.random.default_rng(6)
    shape = (1, 3, 7, 7, chosen.batch, chosen.block_out)
    data, values = draw_tensor(rng, shape, INT8, "data")
    drawn = draw_passes(rng, (*shape[:2], 4, 4, *shape[-2:]), 3, least=3)
    pool = packed_max_pool(data, (3, 3), drawn.passes, strides=(2, 2), padding=(1, 1, 1, 1))
    tile = max_pool_tile(pool, chosen)
    schedule = max_pool_schedule(pool, tile, AcceleratorTarget.of(chosen))
    tensors = {"data": values, **drawn.values}
    found = run_schedule(schedule, chosen, tensors, "functional")
    expected = low_bytes(passed(_pooled(values, pool), drawn.passes, tensors))
    np.testing.assert_array_equal(found, expected)


def test_padding_is_neither_loaded_nor_looked_at() -> None:
    """3x3 windows around each of 4x4 pixels: the corner taps have 3x3 outputs, the centre all."""
    data = placeholder((1, 1, 4, 4, 1, 8), INT8, "data")
    pool = packed_max_pool(data, (3, 3), padding=(1, 1, 1, 1))
    schedule = max_pool_schedule(
        pool, Tile(1, 4, 4, threads=1), AcceleratorTarget.of(machine("small8"))
    )
    commands = [
        each for each in stream_of(schedule, machine("small8")).commands if each is not None
    ]
    loads = [
        each for each in commands if isinstance(each, Copy) and each.memory is MemoryId.ACC_8BIT
    ]
    assert [(each.size, each.rows * each.columns) for each in loads] == [(16, 16)]
    maxima = [
        each.micro_ops for each in commands if isinstance(each, Compute) and each.op is AluOp.MAX
    ]
    assert maxima == [9, 12, 9, 12, 16, 12, 9, 12, 9]


def test_the_choice_loads_least() -> None:
    """Of ResNet's pooling on `pynq`, two threads: halves of ACC hold 10 by 19 outputs."""
    pool = packed_max_pool(
        placeholder((1, 4, 112, 112, 1, 16), INT8, "data"),
        (3, 3),
        strides=(2, 2),
        padding=(1, 1, 1, 1),
    )
    tile = max_pool_tile(pool, machine("pynq"))
    assert tile == Tile(1, 10, 19)
    assert (2 * 10 + 1) * (2 * 19 + 1) + 10 * 19 <= 1024


def test_refuses() -> None:
    data = placeholder((1, 1, 4, 5, 1, 4), INT8, "data")
    with pytest.raises(TensorError, match=r"data int8\[1, 4, 4, 5\] has to be packed, int8\[N, C,"):
        packed_max_pool(placeholder((1, 4, 4, 5), INT8, "data"), (2, 2))
    with pytest.raises(TensorError, match=r"data int32\[.*\] has to be packed, int8"):
        packed_max_pool(placeholder((1, 1, 4, 5, 1, 4), INT32, "data"), (2, 2))
    with pytest.raises(
        TensorError, match=r"axis 2 of data .* has 4 elements, and the window needs 5"
    ):
        packed_max_pool(data, (5, 5))
    with pytest.raises(TensorError, match=r"window 0 on axis 3 of data .* holds only padding"):
        packed_max_pool(data, (2, 2), padding=(0, 2, 0, 0))
    with pytest.raises(TensorError, match=r"r int8\[1, 1, 4, 5, 1, 4\] has to be"):
        packed_max_pool(data, (2, 2), [Pass(AluOp.ADD, placeholder(data.shape, INT8, "r"))])


def test_refuses_what_never_fits() -> None:
    pool = packed_max_pool(placeholder((1, 2, 9, 9, 1, 4), INT8, "data"), (5, 5))
    with pytest.raises(
        CapacityError,
        match=r"max_pool over data int8\[1, 2, 9, 9, 1, 4\] does not fit on tiny: the smallest "
        r"tiles take 52 elements of ACC, which has 32",
    ):
        max_pool_tile(pool, TINY)
    assert max_pool_tile(pool, TINY, threads=1) == Tile(1, 1, 2, threads=1)

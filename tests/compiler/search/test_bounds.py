"""What bounds layers, by hand."""

from __future__ import annotations

import pytest

from tandem.compiler.search.bounds import Bound, bounded_by, layer_bounds, utilization
from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel

TINY = load_config("tiny")
BEAT = TINY.bus_bytes
MEMORY = MemoryModel(latency=5, interval=3)


def layer(
    macs: int = 0,
    gemm_uops: int = 0,
    alu_uops: int = 0,
    read_bytes: int = 0,
    written_bytes: int = 0,
) -> LayerWork:
    return LayerWork("layer", macs, gemm_uops, alu_uops, read_bytes, written_bytes)


def test_the_busier_channel_of_the_bus_counts() -> None:
    for read, written in ((10, 4), (4, 10)):
        one = layer(gemm_uops=7, alu_uops=9, read_bytes=read * BEAT, written_bytes=written * BEAT)
        found = layer_bounds(one, TINY, MEMORY)
        assert found == {Bound.ARRAY: 7, Bound.ALU: 9, Bound.BUS: 30}


@pytest.mark.parametrize(
    ("gemm", "alu", "beats", "wanted"),
    [
        (20, 10, 10, Bound.ARRAY),
        (20, 9, 10, Bound.BUS),
        (10, 20, 10, Bound.ALU),
        (15, 15, 10, Bound.ARRAY),
        (14, 16, 10, Bound.ALU),
        (0, 0, 1, Bound.BUS),
        (0, 0, 0, Bound.ARRAY),
    ],
)
def test_array_and_alu_count_together(gemm: int, alu: int, beats: int, wanted: Bound) -> None:
    one = layer(gemm_uops=gemm, alu_uops=alu, read_bytes=beats * BEAT)
    assert bounded_by(one, TINY, MEMORY) is wanted


def test_utilization() -> None:
    work = StreamWork("digest", (layer(macs=40), layer(macs=8)))
    assert utilization(TINY, work, 12) == pytest.approx(48 / (12 * TINY.macs))

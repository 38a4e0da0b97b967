"""Utilisation of rows and of their total, by hand."""

from __future__ import annotations

import pytest

from tandem.hw.isa import MemoryId, Work
from tandem.workbench.utilization.conv_layers import ConvLayer
from tandem.workbench.utilization.rows import Row, Times, Traffic, total

TRAFFIC = Traffic(10, 20), Traffic(30, 40)
# 4 x 4 results of 2 channels, sums of 9: 288 products.
SMALL = ConvLayer("small", 4, 4, 1, 2, 3, 1, 1, count=3)
# 2 x 2 results of 1 channel, sums of 5: 20 products.
LARGE = ConvLayer("large", 2, 2, 5, 1, 1, 1, 0)


def test_a_row() -> None:
    row = Row.of(SMALL, 16, (36, 24), TRAFFIC)
    assert row.times == Times("small", 3, 288, 16, 36, 24)
    assert (row.traffic_without, row.traffic_with) == TRAFFIC
    assert row.times.utilization_without == pytest.approx(0.5)
    assert row.times.utilization_with == pytest.approx(0.75)
    assert row.times.as_json() == {
        "name": "small",
        "count": 3,
        "macs": 288,
        "cycles_without": 36,
        "cycles_with": 24,
        "utilization_without": 0.5,
        "utilization_with": 0.75,
    }


def test_an_engine_without_cycles() -> None:
    times = Row.of(SMALL, 16, (None, None), TRAFFIC).times
    assert (times.utilization_without, times.utilization_with) == (None, None)


def test_the_total_counts_layers_as_often_as_they_occur() -> None:
    rows = [Row.of(SMALL, 16, (36, 24), TRAFFIC), Row.of(LARGE, 16, (10, 5), TRAFFIC)]
    assert total(rows) == Times("total", 4, 3 * 288 + 20, 16, 3 * 36 + 10, 3 * 24 + 5)


def test_a_total_of_which_a_part_is_unknown() -> None:
    rows = [Row.of(SMALL, 16, (36, None), TRAFFIC), Row.of(LARGE, 16, (10, 5), TRAFFIC)]
    assert (total(rows).cycles_without, total(rows).cycles_with) == (118, None)


def test_traffic() -> None:
    work = Work(
        loaded={MemoryId.INP: 100, MemoryId.WGT: 50},
        stored=7,
        gemm_uops=1,
        reset_uops=1,
        alu_uops=1,
        instructions={},
    )
    assert Traffic.of(work) == Traffic(150, 7)

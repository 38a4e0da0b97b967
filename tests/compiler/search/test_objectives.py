"""Costs of machines, summed by hand."""

from __future__ import annotations

import pytest

from tandem.compiler.search.objectives import Costs, Objective, costs_of
from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config_files import load_config
from tandem.hw.energy import Operations, energy_pj

TINY = load_config("tiny")


def work(gemm: int, alu: int, read: int, written: int) -> StreamWork:
    layer = LayerWork("layer", 0, gemm, alu, read, written)
    return StreamWork("digest", (layer,))


def test_costs_are_sums_by_weight() -> None:
    streams = [work(5, 7, 100, 20), work(50, 70, 1000, 200)]
    found = costs_of(TINY, [1000, 3000], streams, [2.0, 0.5], 99.0, 50.0)
    assert (found.cycles, found.area) == (3500, 99.0)
    assert isinstance(found.cycles, int)
    # 3500 cycles at 50 MHz are 70 microseconds.
    assert found.milliseconds == pytest.approx(0.07)
    assert found.dram_bytes == 2 * 120 + 0.5 * 1200
    picojoules = [energy_pj(TINY, Operations(*counts)) for counts in ((5, 7, 120), (50, 70, 1200))]
    assert found.energy == pytest.approx((2 * picojoules[0] + 0.5 * picojoules[1]) / 1e6)
    assert costs_of(TINY, [1001], streams[:1], [0.5], 1.0, 1.0).cycles == 500.5


def test_values_in_the_order_of_objectives() -> None:
    costs = Costs(1, 2.0, 3.0, 4.0, 5.0)
    assert costs.values(tuple(Objective)) == (1, 2, 3, 4, 5)
    assert costs.values((Objective.ENERGY, Objective.CYCLES)) == (5, 1)
    units = [objective.unit for objective in Objective]
    assert units == ["", "ms", "NAND2", "bytes", "uJ"]

"""Energy by the table of picojoules."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.energy import Operations, energy_pj, sram_pj_byte


def test_memories_of_the_table() -> None:
    for size, pj in ((8 << 10, 10), (32 << 10, 20), (1 << 20, 100)):
        assert sram_pj_byte(size) == pytest.approx(pj / 8)
    sizes = [1 << log for log in range(8, 24)]
    assert sorted(sizes, key=sram_pj_byte) == sizes


def test_dram_costs_most() -> None:
    config = HardwareConfig()
    nothing, some = Operations(0, 0, 0), Operations(0, 0, 1000)
    assert energy_pj(config, nothing) == 0
    assert energy_pj(config, some) == pytest.approx(
        1000 * (1950 / 8 + sram_pj_byte(1 << config.log_wgt_buffer))
    )


def test_each_operation_counts() -> None:
    config = HardwareConfig()
    one = energy_pj(config, Operations(3, 0, 0)), energy_pj(config, Operations(0, 5, 0))
    assert energy_pj(config, Operations(3, 5, 0)) == pytest.approx(sum(one))
    # 256 products and 272 bytes of operands are more than 16 sums.
    assert one[0] / 3 > one[1] / 5 > 0
    single = config.replace(acc_read_ports=1)
    assert energy_pj(single, Operations(1, 0, 0)) < one[0] / 3

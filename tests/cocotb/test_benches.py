"""The generated Verilog under simulators and bus models that others wrote.

The benches themselves are the `bench_*.py` beside this file; they run inside the simulator.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tests.cocotb.machines import COMPRESSED, EXTENDED, TINY, WIDE
from tests.cocotb.simulators import Simulator, run_benches
from tests.support.hw.found_machines import TINY_FOUND, TINY_PACKED

LONG = pytest.mark.exhaustive
RUNS = [
    pytest.param(TINY, ("bench_registers", "bench_programs"), id="tiny", marks=LONG),
    pytest.param(TINY, ("bench_faults", "bench_stops"), id="tiny-stopped", marks=LONG),
    pytest.param(EXTENDED, ("bench_extensions",), id="tiny-x"),
    pytest.param(COMPRESSED, ("bench_codes",), id="tiny-w", marks=LONG),
    pytest.param(TINY_FOUND, ("bench_operations",), id="tiny-found", marks=LONG),
    pytest.param(TINY_PACKED, ("bench_operations",), id="tiny-packed"),
    pytest.param(WIDE, ("bench_programs",), id="wide", marks=LONG),
]


@pytest.mark.parametrize(("config", "benches"), RUNS)
@pytest.mark.parametrize(
    "simulator",
    [
        pytest.param(simulator, marks=marks, id=simulator.value)
        # Under Verilator the `rtl` engine runs the same Verilog in every other test.
        for simulator, marks in (
            (Simulator.ICARUS, ()),
            (Simulator.VERILATOR, LONG),
        )
    ],
)
def test_every_bench_passes(
    simulator: Simulator, config: HardwareConfig, benches: tuple[str, ...], tmp_path: Path
) -> None:
    modules = [f"tests.cocotb.{module}" for module in benches]
    outcomes = run_benches(simulator, config, modules, tmp_path)
    failures = [f"{one.bench}: {one.failure}" for one in outcomes if one.failure]
    assert not failures, "\n".join(failures)
    for module in modules:
        assert any(one.bench.startswith(module) for one in outcomes), f"{module}: no bench ran"

"""The benchmark of the cycle engine, on a small program."""

from __future__ import annotations

from hw.config_files import load_config
from scripts.bench import cycle
from tests.support.vectors import load_vector


def test_it_reports_every_engine() -> None:
    vector = load_vector("016_gemm_default")
    rows = list(cycle.measure(vector.program, vector.before, rtl=False))
    names = [row.name for row in rows]
    assert {"functional", "cycle", "cycle without data", "validation"} <= set(names)
    assert all(row.value > 0 for row in rows if row.unit == "cycles/s")
    gemm = cycle.measure_gemm(load_config("pynq"))
    assert (gemm.unit, gemm.target) == ("cycles/s", cycle.LEAST_GEMM)

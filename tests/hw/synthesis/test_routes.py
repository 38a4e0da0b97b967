"""Clocks of several seeds, and the critical path by modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.routes import Route, Span, Timing, route_of


def step(cell: str, delay: float) -> dict[str, Any]:
    return {"to": {"cell": cell}, "delay": delay}


def report(*steps: dict[str, Any]) -> dict[str, Any]:
    path = {"from": "posedge clk", "to": "posedge clk", "path": [*steps]}
    return {"fmax": {"clk": {"achieved": 81.23456}}, "critical_paths": [path]}


def test_a_path_by_modules() -> None:
    """Carry chains of nextpnr belong to the module before; steps in a module are one."""
    found = route_of(
        3,
        report(
            step("machine.core.a_TRELLIS_FF_Q", 0.5),
            step("$nextpnr_CCU2C_1", 0.25),
            step("core.b_LUT4_Z_1", 1.0),
            step("store.c_MULT18X18D_P0", 2.0),
        ),
    )
    (first, *_) = found.critical_path
    assert (found.seed, found.mhz) == (3, 81.23)
    assert first.signals[0] == "a"
    assert found.critical_path[-1] == Span("store", 2.0, ("c",))
    assert sum(span.ns for span in found.critical_path) == 3.75


@pytest.mark.parametrize("damage", [{"fmax": {}}, {"fmax": []}, {"critical_paths": []}])
def test_a_report_that_is_none(damage: dict[str, Any]) -> None:
    with pytest.raises(SynthesisError, match=r"^nextpnr's report cannot be read: "):
        route_of(1, {**report(), **damage})


def test_median_and_best() -> None:
    routes = tuple(Route(seed, mhz, ()) for seed, mhz in enumerate((70.0, 90.0, 60.0, 80.0), 1))
    timing = Timing(Device.ECP5_85, 6, routes)
    assert (timing.median.seed, timing.best_mhz) == (1, 90.0)
    found = timing.as_json()
    assert (found["mhz"], found["best_mhz"], found["device"]) == (70.0, 90.0, "85k")
    assert found["seeds"] == {"1": 70.0, "2": 90.0, "3": 60.0, "4": 80.0}
    assert replace(timing, routes=routes[:3]).median.seed == 1

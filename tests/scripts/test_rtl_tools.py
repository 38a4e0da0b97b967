"""What `tandem rtl` writes, in the tools of others: none warns of anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import dump_config
from tandem.scripts.cli import app
from tandem.sim.rtl.toolchain import find_toolchain
from tests.e2e.random_machines import random_machine
from tests.mutation.yosys import run_yosys

PRESETS = ("tiny", "pynq", "ultra96", "de10", "small8")
SEEDS = range(5)
MACHINES = [
    *(pytest.param(name, marks=pytest.mark.exhaustive) for name in PRESETS[1:]),
    *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in SEEDS),
]


@pytest.fixture(scope="module", params=[PRESETS[0], *MACHINES])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `tandem rtl` wrote, for a preset or a drawn machine."""
    machine = request.param
    if isinstance(machine, int):
        file = tmp_path_factory.mktemp("drawn") / "machine.json"
        file.write_text(dump_config(random_machine(machine)))
        machine = str(file)
    written = tmp_path_factory.mktemp("rtl")
    result = CliRunner().invoke(app, ["rtl", "--config", machine, "-o", str(written), "--json"])
    assert result.exit_code == 0, result.output
    return written


def test_verilator_is_silent(folder: Path) -> None:
    """Apart from its report, of lines that begin with a dash."""
    tools = find_toolchain()
    command = (str(tools.verilator), "--lint-only", "-Wall", "--top-module", "tandem")
    done = subprocess.run(
        [*command, "lint.vlt", "-f", "tandem.f"],
        cwd=folder,
        env={**os.environ, "VERILATOR_ROOT": str(tools.verilator_root)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if not line.startswith("- ")] == []


def test_icarus_is_silent(folder: Path) -> None:
    assert shutil.which("iverilog"), (
        "Icarus Verilog is not installed (Debian: apt install iverilog)"
    )
    command = ("iverilog", "-g2005", "-Wall", "-s", "tandem", "-t", "null", "-c", "tandem.f")
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_yosys_finds_nothing(folder: Path) -> None:
    """No warning of any pass, which would be an error here, and no problem in the netlist."""
    names = (folder / "tandem.f").read_text().split()
    commands = (
        "logger -werror .",
        f"read_verilog {' '.join(names)}",
        "hierarchy -check -top tandem",
        "proc",
        "check -assert",
    )
    run_yosys(commands, {name: (folder / name).read_text() for name in names})

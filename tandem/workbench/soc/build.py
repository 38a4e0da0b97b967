"""Builds a system's firmware and simulator, with the tools of this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.base.processes import ProcessGroup
from tandem.sim.rtl.toolchain import Toolchain, find_toolchain
from tandem.workbench.errors import SocError
from tandem.workbench.installation.tools import FIRMWARE_COMPILER, FIRMWARE_PACKAGES
from tandem.workbench.soc.firmware import FIRMWARE

SIMULATOR: Final = "soc_simulator"
_ERROR_LINES: Final = 12


def check_tools() -> None:
    """Raise `SocError`, which says what to install, if the firmware cannot be built."""
    for tool in (FIRMWARE_COMPILER, "make"):
        if shutil.which(tool) is None:
            raise SocError(
                f"no {tool}, which builds the firmware: install it (Debian: apt install "
                f"{FIRMWARE_PACKAGES} make)"
            )


def write_tree(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files whose names may begin with folders."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def build_firmware(folder: Path, defines: Sequence[str] = ()) -> dict[str, bytes]:
    """Build in `firmware`, beside `network`; returns the files that were made, by name.

    Raises
    ------
    SocError
        A tool is missing, or failed: has the last lines of its output.
    """
    check_tools()
    names = [f"{FIRMWARE}.{suffix}" for suffix in ("elf", "bin", "init")]
    _make(folder / FIRMWARE, names[-1], f"DEFINES={' '.join(defines)}")
    return {name: (folder / FIRMWARE / name).read_bytes() for name in names}


def build_simulator(hardware: Mapping[str, str], root: Path | None = None) -> Path:
    """The simulator of a system's hardware, from the cache under `root` or built.

    Raises
    ------
    SocError, BuildError
        A tool failed, with the last lines of its output; Verilator or a compiler is missing.
    """
    tools = find_toolchain()
    key = content_key("soc", tools.identity, repr(sorted(hardware.items())))

    def build(work: Path) -> Sequence[Path]:
        write_tree(work, hardware)
        _make(work / "simulation", SIMULATOR, *_variables(tools), tools=tools)
        return [work / "simulation" / SIMULATOR]

    return ContentCache((root or default_cache()) / "soc").entry(key, build) / SIMULATOR


def _variables(tools: Toolchain) -> tuple[str, ...]:
    return (
        f"VERILATOR={tools.verilator}",
        f"CXX={' '.join(tools.compiler)}",
        "CXX_FAST=-O2 -march=native",
        f"JOBS={len(os.sched_getaffinity(0))}",
    )


def _make(folder: Path, goal: str, *variables: str, tools: Toolchain | None = None) -> None:
    environment = dict(os.environ)
    if tools is not None:
        environment["VERILATOR_ROOT"] = str(tools.verilator_root)
    with ProcessGroup() as group:
        status, output = group.run(
            ("make", "--no-print-directory", *variables, goal), folder, environment
        )
    if status:
        tail = "\n".join(output.splitlines()[-_ERROR_LINES:])
        raise SocError(f"make {goal} in {folder.name} ended with status {status}:\n{tail}")

"""A machine's Verilog as files, with what tools and drivers need beside it."""

from __future__ import annotations

from importlib.resources import files as package_files
from pathlib import Path

from tandem.base.folders import write_files
from tandem.base.paths import AnyPath
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tandem.hw.header import c_header
from tandem.hw.rtl.verilog import GENERATED, VerilogDesign
from tandem.hw.system_rdl import system_rdl
from tandem.workbench.ip.constraints import DEFAULT_MHZ
from tandem.workbench.ip.files import core_files
from tandem.workbench.ip.names import CONFIG_FILE, FILE_LIST, HEADER_FILE, LINT_FILE, RDL_FILE

COMPANIONS = (FILE_LIST, CONFIG_FILE, HEADER_FILE, RDL_FILE, LINT_FILE)
"""The files that describe a machine, beside its Verilog."""

_LINE = 1 << 10
"""The maximum number of bytes of a file's first line that are looked at."""


def write_design(
    folder: AnyPath,
    machine: HardwareConfig,
    design: VerilogDesign,
    mhz: float = DEFAULT_MHZ,
    core: str | None = None,
) -> dict[str, str | bytes]:
    """Write a machine's Verilog, and beside it what tools and drivers need.

    All files of the design are new then, or none is; see `write_files`. Files of a design that the
    folder had are removed. Returns the contents of the files that are not the machine's Verilog, by
    name.

    Parameters
    ----------
    mhz
        The clock of the constraints.
    core
        FuseSoC's name of the machine; `core_name` unless given.
    """
    folder = Path(folder)
    extras = {**companions(machine, design), **core_files(machine, design, mhz, core)}
    files = {**design.files, **extras}
    write_files(folder, files, FILE_LIST, generated_files(folder) - files.keys())
    return extras


def companions(machine: HardwareConfig, design: VerilogDesign) -> dict[str, str]:
    """The files beside a machine's Verilog, by name."""
    return {
        CONFIG_FILE: dump_config(machine),
        HEADER_FILE: c_header(machine),
        RDL_FILE: system_rdl(machine),
        LINT_FILE: package_files("tandem.hw.rtl").joinpath(LINT_FILE).read_text("utf-8"),
        FILE_LIST: "".join(f"{name}\n" for name in design.files),
    }


def generated_files(folder: Path) -> set[str]:
    """The names of the Verilog files in a folder that an earlier run generated."""
    return {path.name for path in folder.glob("*.v") if _is_generated(path)}


def _is_generated(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return GENERATED.encode() in file.readline(_LINE)

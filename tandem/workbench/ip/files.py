"""The files of a machine for other people's tools, by name."""

from __future__ import annotations

from importlib.resources import files as package_files
from pathlib import Path

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.workbench.ip.block_design import block_design
from tandem.workbench.ip.constraints import DEFAULT_MHZ, sdc, xdc
from tandem.workbench.ip.core_file import core_file
from tandem.workbench.ip.names import (
    BENCH_FOLDER,
    BENCH_MODULE,
    BLOCK_DESIGN_FILE,
    CORE_FILE,
    SDC_FILE,
    WRAPPER_FILE,
    XDC_FILE,
)
from tandem.workbench.ip.self_test import self_test_files
from tandem.workbench.ip.vivado_wrapper import vivado_wrapper

_BENCH = (f"{BENCH_MODULE}.py", "tandem_bench.py", "Makefile")


def core_files(
    config: HardwareConfig,
    design: VerilogDesign,
    mhz: float = DEFAULT_MHZ,
    core: str | None = None,
) -> dict[str, str | bytes]:
    """Everything for other people's tools: a testbench, a core file, constraints, Vivado's.

    Parameters
    ----------
    mhz
        The clock of the constraints.
    core
        FuseSoC's name of the machine; `core_name` unless given.
    """
    source = bench_folder()
    bench: dict[str, bytes] = {name: (source / name).read_bytes() for name in _BENCH}
    bench |= self_test_files(config)
    return {
        CORE_FILE: core_file(config, design, bench, core),
        SDC_FILE: sdc(design, mhz),
        XDC_FILE: xdc(mhz),
        WRAPPER_FILE: vivado_wrapper(config, design),
        BLOCK_DESIGN_FILE: block_design(config, mhz),
        **{f"{BENCH_FOLDER}/{name}": content for name, content in bench.items()},
    }


def bench_folder() -> Path:
    """The folder of the testbench's source."""
    return Path(str(package_files("tandem.workbench.ip").joinpath("bench")))

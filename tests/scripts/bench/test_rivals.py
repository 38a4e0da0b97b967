"""Sketches beside MetaSchedule: how TVM's Python is asked, and what a row says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tandem.scripts.bench.rivals import SCRIPT, Rival, rival, row
from tandem.scripts.bench.sketches import Operator

SMALL = Operator("product", "MatMul", ((4, 8), (8, 16)))


def python_that(folder: Path, body: str) -> str:
    """A program in place of TVM's Python, which gets the same arguments."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_the_script_is_run_on_a_model_by_the_other_python(tmp_path: Path) -> None:
    python = python_that(
        tmp_path,
        "import onnx; model = onnx.load(sys.argv[2])\n"
        "print('tuning')\n"
        "print(json.dumps({'seconds': 2e-6, 'trials': int(sys.argv[4]), 'failed': 1,"
        " 'version': model.graph.node[0].op_type + sys.argv[6] + sys.argv[8]}))",
    )
    found = rival(python, SMALL, 7, 3, "znver4")
    assert found == Rival(2e-6, 7, 1, "MatMulznver43")


def test_what_fails_there_fails_here(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        rival(python_that(tmp_path, "sys.exit(3)"), SMALL, 1, 0, "znver4")


def test_the_script_says_what_it_takes_without_tvm() -> None:
    asked = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=True
    )
    assert "--trials" in asked.stdout
    assert json.dumps("tandem") not in SCRIPT.read_text()


def test_a_row_is_the_median_over_repeats() -> None:
    rivals = [Rival(seconds, 2, seconds > 2, "0") for seconds in (3.0, 1.0, 2.0)]
    ratio, cells = row(SMALL, 2, 3, lambda seed: rivals[seed])
    assert cells[0] == "product"
    assert cells[3:5] == ("2,000,000.0 us", "1")
    assert ratio > 1

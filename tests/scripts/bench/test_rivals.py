"""Sketches beside MetaSchedule: how TVM's Python is asked, what is kept, and what a row says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tandem.scripts.bench.rivals import SCRIPT, Results, Tuned, by_metaschedule, by_sketches, row
from tandem.scripts.bench.sketches import Operator

SMALL = Operator("product", "MatMul", ((4, 8), (8, 16)))
ONE = Tuned("product", "MetaSchedule", 3, 7, "znver4", 2e-6, 7, 1, "1")


def python_that(folder: Path, body: str) -> str:
    """A program in place of TVM's Python, which gets the same arguments."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{body}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(("seconds", "kernels"), [(2e-6, 3e-6), (3e-6, 2e-6)])
def test_the_script_is_run_on_a_model_by_the_other_python(
    tmp_path: Path, seconds: float, kernels: float
) -> None:
    python = python_that(
        tmp_path,
        "import onnx; model = onnx.load(sys.argv[2])\n"
        "print('tuning')\n"
        f"print(json.dumps({{'seconds': {seconds}, 'kernels': {kernels},"
        " 'trials': int(sys.argv[4]), 'failed': 1,"
        " 'version': model.graph.node[0].op_type + sys.argv[6] + sys.argv[8]}))",
    )
    found = by_metaschedule(python, SMALL, 7, 3, "znver4")
    assert found == replace(ONE, version="MatMulznver43"), "the lesser of both times"


def test_what_fails_there_fails_here(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        by_metaschedule(python_that(tmp_path, "sys.exit(3)"), SMALL, 1, 0, "znver4")


def test_the_script_says_what_it_takes_without_tvm() -> None:
    asked = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=True
    )
    assert "--trials" in asked.stdout
    assert json.dumps("tandem") not in SCRIPT.read_text()


def test_sketches_are_tuned_alone() -> None:
    found = by_sketches(SMALL, 2, 0)
    assert (found.operator, found.side, found.repeat, found.trials) == ("product", "sketches", 0, 2)
    assert 0 < found.seconds < 1


def test_what_is_kept_is_not_measured_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl", 7, "znver4")
    assert results.get(SMALL, "MetaSchedule", 3, lambda operator, repeat: ONE) == ONE

    def again(operator: Operator, repeat: int) -> Tuned:
        raise AssertionError("measured again")

    assert results.get(SMALL, "MetaSchedule", 3, again) == ONE
    for other in (replace(results, trials=8), replace(results, processor="znver3")):
        with pytest.raises(AssertionError, match="measured again"):
            other.get(SMALL, "MetaSchedule", 3, again)
    for side, repeat in (("sketches", 3), ("MetaSchedule", 2)):
        with pytest.raises(AssertionError, match="measured again"):
            results.get(SMALL, side, repeat, again)


def test_a_row_is_the_median_over_repeats() -> None:
    ours = [replace(ONE, seconds=seconds, failed=0) for seconds in (1.0, 0.5, 4.0)]
    theirs = [replace(ONE, seconds=seconds) for seconds in (3.0, 1.0, 2.0)]
    ratio, cells = row(ours, theirs)
    assert cells == ("product", "1,000,000.0 us", "0", "2,000,000.0 us", "3", "2.00")
    assert ratio == 2

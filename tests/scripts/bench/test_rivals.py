"""Sketches beside MetaSchedule: how TVM's Python is asked, what is kept, and what a row says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tandem.scripts.bench.rivals import ROUNDS, SCRIPT, Repeat, Settings, checked, main, row
from tandem.scripts.bench.sketches import Operator

SMALL = Operator("product", "MatMul", ((4, 8), (8, 16)))
SETTINGS = Settings(7, "znver4")


def repeat_with(folder: Path, body: str) -> Repeat:
    """A repeat with a program in place of TVM's Python, which gets the same arguments."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{body}\n")
    program.chmod(0o755)
    return Repeat(SMALL, 3, SETTINGS, str(program), folder)


def test_the_script_tunes_a_model_by_the_other_python(tmp_path: Path) -> None:
    one = repeat_with(
        tmp_path,
        "import onnx; model = onnx.load(sys.argv[2]); open(sys.argv[3], 'w').close()\n"
        "print('tuning')\n"
        "print(json.dumps([model.graph.node[0].op_type, *sys.argv[4:]]))",
    )
    wanted = ["MatMul", "--trials", "7", "--mcpu", "znver4", "--seed", "3"]
    assert one.rival() == wanted
    assert (tmp_path / "product.3.so").exists()
    Path(one.python).unlink()
    assert one.rival() == wanted, "kept"
    with pytest.raises(FileNotFoundError):
        replace(one, seed=4).rival()


def test_what_fails_there_fails_here(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        repeat_with(tmp_path, "sys.exit(3)").rival()
    assert not (tmp_path / "product.3.rival").exists()


def test_the_script_says_what_it_takes_without_tvm() -> None:
    asked = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=True
    )
    assert "--trials" in asked.stdout
    assert json.dumps("tandem") not in SCRIPT.read_text()


def test_what_both_found_runs_alternately(tmp_path: Path) -> None:
    """A library is run without options; sketches are tuned and compiled."""
    one = repeat_with(
        tmp_path,
        "known = {'seconds': 2.0} if len(sys.argv) == 4 else {'trials': 9, 'failed': 2}\n"
        "print(json.dumps(known))",
    )
    one = replace(one, settings=Settings(2, "znver4"))
    rounds = one.seconds()
    assert len(rounds) == ROUNDS
    assert all(0 < own < 1 and other == 2 for own, other in rounds)
    assert (one.own()["trials"], one.own()["failed"], len(one.own()["choices"])) == (2, 0, 1)


def test_results_belong_to_settings(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    checked(folder, SETTINGS)
    checked(folder, SETTINGS)
    for other in (replace(SETTINGS, trials=8), replace(SETTINGS, processor="znver3")):
        with pytest.raises(ValueError, match="has results of"):
            checked(folder, other)


def test_a_damaged_result_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a file that was cut in the middle."""
    damaged = tmp_path / "product.3.rival"
    damaged.write_text('{"trials": 7, "fai')
    with pytest.raises(ValueError, match=rf"^{damaged} is damaged: without it, it is made again$"):
        repeat_with(tmp_path, "").rival()
    (tmp_path / "settings.json").write_text("")
    given = ["rivals", "--tvm", sys.executable, "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    assert main() == 1
    told = capsys.readouterr()
    assert told.err == (
        f"error: {tmp_path}/settings.json is damaged: without it, it is made again\n"
    )
    assert told.out == ""


def test_a_row_is_the_median_over_repeats(tmp_path: Path) -> None:
    repeats = [replace(repeat_with(tmp_path, ""), seed=seed) for seed in range(3)]
    rounds = [[(1.0, 3.0)], [(0.5, 1.0)], [(4.0, 2.0)]]
    for seed, pairs in enumerate(rounds):
        for kind, found in {
            "own": {"choices": [], "failed": 0},
            "rival": {"failed": 1},
            "seconds": pairs,
        }.items():
            (tmp_path / f"product.{seed}.{kind}").write_text(json.dumps(found))
    ratio, cells = row(repeats)
    assert cells == ("product", "1,000,000.0 us", "0", "2,000,000.0 us", "3", "2.00")
    assert ratio == 2

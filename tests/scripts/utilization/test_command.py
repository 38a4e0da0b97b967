"""`tandem utilization`: its table, its JSON, its errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tandem.workbench.utilization import RESNET18
from tandem.workbench.utilization import case as cases
from tandem.workbench.utilization.case import Case, Int8
from tests.support.scripts.terminal import interrupted

KEYS = [
    "name",
    "count",
    "macs",
    "cycles_without",
    "cycles_with",
    "utilization_without",
    "utilization_with",
]
TINY = ["--config", "tiny", "--layer", "a=8,8,8,8,1,1,0", "--layer", "b=6,7,5,9,2,2,1"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["utilization", *arguments])


def test_json() -> None:
    result = run(*TINY, "--engine", "rtl", "--json")
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert list(written) == ["layers", "total", "left_out", "config", "memory", "engine"]
    assert written["left_out"] == []
    assert [list(entry) for entry in (*written["layers"], written["total"])] == [KEYS] * 3
    first, second = written["layers"]
    assert (first["name"], first["count"], first["macs"]) == ("a", 1, 4096)
    assert (second["name"], second["count"], second["macs"]) == ("b", 1, 4 * 4 * 9 * 5 * 4)
    for entry in (first, second, written["total"]):
        assert entry["utilization_with"] == entry["macs"] / entry["cycles_with"] / 16
        assert entry["cycles_with"] < entry["cycles_without"]
    assert written["total"]["cycles_with"] == first["cycles_with"] + second["cycles_with"]


def test_json_without_time() -> None:
    written = json.loads(run(*TINY, "--engine", "functional", "--json").stdout)
    for entry in (*written["layers"], written["total"]):
        assert [entry[key] for key in KEYS[3:]] == [None] * 4


def test_the_table() -> None:
    result = run(*TINY, "--engine", "rtl", "--memory", "ddr")
    assert result.exit_code == 0, result.stderr
    assert result.output.startswith("convolutions on tiny, engine rtl, memory ddr:\n")
    number, share = r"[\d,]+", r"\d+\.\d%"
    for name in (r"a +8x8 8->8 1x1 +1", r"b +6x7 5->9 2x2/2 +1", "total +2"):
        line = rf"^{name} +{number} +{number} +{share} +{share}$"
        assert re.search(line, result.output, re.MULTILINE)
    assert result.output.endswith("\nall results equal to NumPy's\n")


def test_the_table_without_time_says_who_has_it() -> None:
    output = run(*TINY, "--engine", "functional").output
    assert re.search(r"^total +2 +- +- +- +-$", output, re.MULTILINE)
    assert output.splitlines()[-2:] == [
        "all results equal to NumPy's",
        "the functional engine has no time: --engine cycle tells cycles",
    ]


def test_long_names_fold() -> None:
    name = "x" * 90
    timeless = ["--config", "tiny", "--engine", "functional"]
    output = run(*timeless, "--layer", f"{name}=4,4,4,4,1,1,0").output
    assert max(map(len, output.splitlines())) <= 80
    assert re.search(r"^x+ 4x4 4->4 1x1 +1 +- +- +- +-$", output, re.MULTILINE)
    assert "".join(re.findall(r"^x+", output, re.MULTILINE)) == name


def test_brackets_are_no_markup() -> None:
    output = run("--config", "tiny", "--layer", "[bold]=4,4,4,4,1,1,0").output
    assert "\n[bold]  4x4 4->4 1x1" in output


def test_the_default_is_resnet18(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def measure(engine: object, layers: object, seed: int, report: object) -> list[object]:
        asked.extend([layers, seed])
        raise KeyboardInterrupt

    monkeypatch.setattr("tandem.scripts.utilization.command.measure", measure)
    result = run("--seed", "7")
    assert asked == [RESNET18, 7]
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "error: interrupted\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1,2", "layer 'a=1,2': written NAME=H,W,IC,OC,K,STRIDE,PAD, seven whole numbers"),
        ("C12", "layer 'C12': not one of ResNet-18's, C1, C2, C3"),
        ("a=4,4,8,8,7,1,1", "layer a: a window of 7x7 is larger than the image, 6x6 with its"),
    ],
)
def test_a_layer_that_cannot_be_is_wrong_usage(text: str, message: str) -> None:
    result = run("--layer", text)
    assert (result.exit_code, result.stdout) == (2, "")
    said = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--config", "tiny", "--layer", "a=8,8,8,8,3,1,1"],
            "layer a: tiny is too small for the smallest tiles: WGT has 16 elements and they take "
            "18",
        ),
        (
            ["--layer", "a=8,8,8,8,3,1,1", "--layer", "a=8,8,8,8,1,1,0"],
            "layer a: there are 2 of the name",
        ),
        (["--memory", "slow"], "memory 'slow': expected one of fast, ddr, edge, or "),
    ],
)
def test_what_fails_is_one_line(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"error: {re.escape(message)}.*\n", result.stderr)


def test_a_wrong_result_prints_no_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(case: Case) -> Int8:
        return case.data * 0

    monkeypatch.setattr(cases, "expected", zeros)
    result = run("--engine", "rtl", *TINY)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(
        r"error: a without latency hiding on rtl: \d+ of 512 results differ from NumPy's; .*\n",
        result.stderr,
    )


@pytest.mark.exhaustive
def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    # The second has not begun when the first is shown.
    arguments = ["utilization", "--layer", "C11", "--layer", "C5"]
    assert interrupted(arguments, b"utilization: C11", tmp_path) == b""
    assert list(tmp_path.iterdir()) == []

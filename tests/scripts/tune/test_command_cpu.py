"""`tandem tune --device cpu`: records of seconds, which compilations for the CPU take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.tune.records import read_records
from scripts.cli import app
from tests.support.models import convolution

CPU = ("--device", "cpu", "--quantize", "none")


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def answer(*arguments: object) -> dict[str, Any]:
    code, output, errors = invoke(*arguments, "--json")
    assert code == 0, errors
    found: dict[str, Any] = json.loads(output)
    return found


def test_tuned_and_taken(tmp_path: Path) -> None:
    model, records = convolution(tmp_path / "net.onnx"), tmp_path / "records.jsonl"
    tune = ("tune", model, *CPU, "--threads", 1, "--trials", 3, "--records", records)
    found = answer(*tune)
    (task,) = found["tasks"]
    assert 0 < task["best"] <= task["default"] < 1
    assert found["total"] == {"default": task["default"], "best": task["best"]}
    kept, _ = read_records(records)
    assert {record.target for record in kept} == {"cpu"}
    assert all(record.machine["threads"] == 1 and record.memory == "" for record in kept)
    assert len(kept) == 4

    again = answer(*tune)
    assert [one["best"] for one in again["tasks"]] == [task["best"]]
    assert read_records(records)[0] == kept

    run = answer("run", model, *CPU, "--threads", 1, "--records", records)
    assert [one["choice"] for one in run["tuned"]] == [task["choice"]]
    other = answer("run", model, *CPU, "--threads", 2, "--records", records)
    assert other["tuned"] == []
    artifact = tmp_path / "net.tandem"
    compiled = answer("compile", model, *CPU, "--records", records, "-o", artifact)
    assert "tuned" in compiled

    shown = answer("tune", model, *CPU, "--threads", 1, "--records", records, "--show")
    assert [one["best"] for one in shown["tasks"]] == [task["best"]]
    code, output, _ = invoke(*tune)
    assert code == 0
    assert " us" in output
    assert " ms on " in output


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("--layer", "a=4,4,8,8,3,1,1"), "--layer"),
        (("digits", "--jobs", 2), "--jobs"),
        (("digits", "--scheduler", "tcp://a:1"), "--scheduler"),
        (("digits", "--report", "page.html"), "--report"),
        (("digits", "--space", "wide"), "--space wide"),
        (("digits", "--config", "pynq"), "--config"),
    ],
)
def test_what_is_for_the_accelerator(arguments: tuple[object, ...], option: str) -> None:
    code, _, errors = invoke("tune", *arguments, "--device", "cpu")
    assert code == 1
    assert f"{option} is for --device accelerator" in errors


def test_threads_are_the_processors() -> None:
    code, _, errors = invoke("tune", "digits", "--threads", 1)
    assert code == 2
    assert "--threads is for --device cpu" in errors

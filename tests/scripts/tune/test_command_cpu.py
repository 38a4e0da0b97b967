"""`tandem tune --device cpu`: records of seconds, which compilations for the CPU take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from typer.testing import CliRunner

from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution

CPU = ("--device", "cpu", "--quantize", "none")


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def answer(*arguments: object) -> dict[str, Any]:
    code, output, errors = invoke(*arguments, "--json")
    assert code == 0, errors
    return json.loads(output)


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
    *trials, decision = kept
    assert len(trials) == 4
    assert all(record.default_cost is UNSET for record in trials)
    assert (decision.cost, decision.default_cost) == (task["best"], task["default"])
    assert dict(decision.choice) == task["choice"]
    assert task["kept"] == (task["choice"] != dict(trials[0].choice))
    assert (task["bound"], task["gap"], task["certified"]) == (None, None, False)
    assert (found["network"] is not None) == task["kept"]

    again = answer(*tune)
    assert [one["best"] for one in again["tasks"]] == [task["best"]]
    assert again["network"] is None
    assert read_records(records)[0] == kept

    run = answer("run", model, *CPU, "--threads", 1, "--records", records)
    assert [one["choice"] for one in run["tuned"]] == [task["choice"]]
    artifact = tmp_path / "net.tandem"
    make = ("compile", model, *CPU, "--records", records, "-o", artifact)
    assert [one["choice"] for one in answer(*make, "--threads", 1)["tuned"]] == [task["choice"]]
    others = ("run", model, *CPU, "--threads", 2, "--records", records), (*make, "--threads", 2)
    for other in others:
        code, output, errors = invoke(*other)
        assert code == 0
        assert "schedules: 0 of 1 layers by records, 1 by the compiler's estimate" in output
        assert errors == (
            f"warning: {records}: records are of other machines; the nearest one has threads 1 and "
            "not 2 (--threads)\n"
        )
        assert answer(*other)["tuned"] == []

    shown = answer("tune", model, *CPU, "--threads", 1, "--records", records, "--show")
    assert [one["best"] for one in shown["tasks"]] == [task["best"]]
    code, output, _ = invoke(*tune)
    assert code == 0
    assert " us" in output
    assert " ms on " in output
    assert "bound" not in output
    assert output.splitlines()[-1].startswith("kept: ")


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


@pytest.mark.parametrize("verb", [("tune",), ("compile", "-o", "never.tandem")])
def test_threads_are_the_processors(verb: tuple[str, ...]) -> None:
    code, _, errors = invoke(*verb, "digits", "--threads", 1)
    assert code == 2
    assert "--threads is for --device cpu" in errors


def test_sketches_are_tuned_and_taken(tmp_path: Path) -> None:
    model, records = convolution(tmp_path / "net.onnx"), tmp_path / "records.jsonl"
    tune = ("tune", model, *CPU, "--threads", 1, "--trials", 4, "--records", records)
    found = answer(*tune, "--explorer", "sketches")
    assert {task["template"] for task in found["tasks"]} == {"sketches"}
    assert all(task["trials"] > 0 for task in found["tasks"])
    assert all(task["workload"]["is"] == "Computation" for task in found["tasks"])
    assert all(not task["certified"] for task in found["tasks"])
    kept, _ = read_records(records)
    assert {record.template for record in kept} == {"sketches"}
    assert {record.explorer for record in kept} == {"default", "sketches"}
    assert answer(*tune, "--explorer", "sketches")["tasks"] == found["tasks"]

    run = answer("run", model, *CPU, "--threads", 1, "--records", records)
    taken = {task["name"]: task["choice"] for task in found["tasks"] if task["kept"]}
    assert {one["layers"][0]: one["choice"] for one in run["tuned"]} == taken
    code, output, _ = invoke("tune", "--show", "--records", records)
    assert code == 0
    assert "sketches (a0: float32[" in output

"""`tandem tune --show`: what records know, without a measurement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from tandem.compiler.tune.records import append_records, read_records
from tandem.compiler.tune.trial import Outcome
from tandem.scripts.cli import app
from tests.support.workbench.tuning_records import IDENTITY, record

LAYERS = ("--layer", "a=4,4,8,8,3,1,1", "--layer", "b=4,4,8,16,1,2,0", "--config", "small8")


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def shown(*arguments: object) -> list[dict[str, Any]]:
    code, output, errors = invoke("--show", "--json", *arguments)
    assert code == 0, errors
    return json.loads(output)["tasks"]


def test_what_a_run_recorded(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    code, output, errors = invoke(
        *LAYERS, "--trials", 5, "--jobs", 1, "--records", records, "--json"
    )
    assert code == 0, errors
    before = records.read_bytes()
    ran = json.loads(output)["tasks"]
    rows = shown("--records", records, *LAYERS)
    for one, row in zip(ran, rows, strict=True):
        same = ("name", "template", "workload", "count", "trials", "best", "choice")
        assert {key: one[key] for key in same} == {key: row[key] for key in same}
    # Without layers, of the whole file.
    whole = shown("--records", records)
    unnamed = [{key: row[key] for key in row if key not in ("name", "count")} for row in rows]
    assert [{key: row[key] for key in row if key != "name"} for row in whole] == unnamed
    # On another memory nothing is known, and tasks are there all the same.
    other = shown("--records", records, *LAYERS, "--memory", "edge")
    assert [(row["name"], row["trials"], row["best"]) for row in other] == [
        ("a", 0, None),
        ("b", 0, None),
    ]
    assert records.read_bytes() == before
    code, output, _ = invoke("--show", "--records", records)
    assert code == 0
    assert max(map(len, output.splitlines())) <= 80
    assert output.startswith("small8, latency=16,interval=1,in_flight=16\n")
    assert "conv2d 1x1x4x4 * 1x1x3x3 ADD SHR MAX MIN" in output


def test_a_model(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    append_records(records, [record(1, Outcome.measured(9))])
    rows = shown("digits", "--records", records, "--config", "small8-x")
    assert len(rows) > 5
    assert {row["trials"] for row in rows} == {0}
    assert rows[-1]["name"] == "output"


def test_seconds_of_the_cpu(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    processor = {"name": "zen", "features": ["avx2"], "threads": 1}
    on_cpu = replace(IDENTITY, target="cpu", machine=processor, memory="")
    append_records(records, [record(1, Outcome.measured(0.00125), identity=on_cpu)])
    code, output, _ = invoke("--show", "--records", records)
    assert code == 0
    assert [line.split() for line in output.splitlines()] == [
        ["zen"],
        ["workload", "and", "best", "choice", "explorer", "trials", "best"],
        ["conv2d", "1x2", "grid", "1", "0.00125"],
        ["x=1"],
    ]


def test_damaged_lines_are_reported_and_kept(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    good = msgspec.json.encode(record(1, Outcome.measured(9)))
    records.write_bytes(b"{}\n" + good + b"\n" + good[:40])
    before = records.read_bytes()
    code, _, errors = invoke("--show", "--records", records)
    assert code == 0
    assert errors.startswith(f"warning: {records}:1: skipped: ")
    assert records.read_bytes() == before
    assert len(read_records(records)[0]) == 1


@pytest.mark.parametrize(
    "arguments", [("--show",), ("--show", "--records", "x", "--merge", "y"), ("--show", "digits")]
)
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    code, _, errors = invoke(*arguments)
    assert code == 2
    assert "--show prints --records FILE, and changes nothing" in " ".join(
        errors.replace("│", " ").split()
    )


def test_no_such_file() -> None:
    code, _, errors = invoke("--show", "--records", "none.jsonl")
    assert (code, errors) == (1, "error: none.jsonl: No such file or directory\n")

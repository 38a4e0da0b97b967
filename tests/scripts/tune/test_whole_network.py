"""`tandem tune --network`: a network's exact cycles and what bounds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app

MODEL = ("digits", "--config", "small8-x", "--memory", "edge")


def tune(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_tables_and_the_same_as_json() -> None:
    code, text, errors = tune(*MODEL, "--network")
    assert code == 0, errors
    _, printed, _ = tune(*MODEL, "--network", "--json")
    found = json.loads(printed)
    cycles = found["cycles"]
    assert text.startswith(f"digits on small8-x, memory edge: {cycles:,} cycles\n")
    assert found["streams"] == 1
    first = found["bounds"][0]
    assert (found["bound"], found["gap"]) == (first["cycles"], first["gap"])
    for row in found["resources"]:
        assert row["share"] == row["cycles"] / cycles
        assert f" {row['cycles']:,} " in text
        assert row["bytes"] is None or f" {row['bytes']:,} " in text
    for row in found["bounds"]:
        assert row["cycles"] <= cycles
        assert row["gap"] == cycles / row["cycles"] - 1
        assert f"{row['cycles']:,}  {row['gap']:.2%}" in text
    # Its cycles are those of a run.
    result = CliRunner().invoke(app, ["run", *MODEL, "--json"])
    assert json.loads(result.stdout)["cycles"] == cycles


def test_with_records_it_has_the_recorded_schedules(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    code, _, errors = tune(
        *MODEL, "--records", records, "--trials", 2, "--explorer", "estimate", "--jobs", 1
    )
    assert code == 0, errors
    kept = records.read_bytes()
    code, printed, errors = tune(*MODEL, "--records", records, "--network", "--json")
    assert code == 0, errors
    assert json.loads(printed)["cycles"] > 0
    assert records.read_bytes() == kept


@pytest.mark.parametrize(
    "arguments",
    [
        ("--layer", "a=4,4,8,8,3,1,1"),
        ("--show", "--records", "records.jsonl"),
        (*MODEL, "--report", "page.html"),
        (*MODEL, "--explain", "a"),
        (*MODEL, "--records", "a.jsonl", "--merge", "b.jsonl"),
        ("digits", "--device", "cpu"),
    ],
)
def test_refused(arguments: tuple[str, ...]) -> None:
    code, text, errors = tune(*arguments, "--network")
    assert code in (1, 2)
    assert not text
    assert "--network" in errors

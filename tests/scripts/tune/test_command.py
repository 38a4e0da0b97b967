"""`tandem tune`: from tasks to records, again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tandem.scripts.tune.command import ExplorerName
from tests.support.hw.rtl.rtl import seeds

LAYERS = ("--layer", "a=4,4,8,8,3,1,1", "--layer", "b=4,4,8,16,1,2,0", "--config", "small8")


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def tuned(*arguments: object) -> dict[str, Any]:
    code, output, errors = invoke(*arguments, "--json", "--jobs", 1)
    assert code == 0, errors
    return json.loads(output)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def test_the_exact_explorer_certifies(records: Path) -> None:
    layers = ("--layer", "a=1,2,8,8,1,1,0", "--layer", "b=2,2,8,8,1,1,0", "--config", "small8")
    found = tuned(*layers, "--explorer", "exact", "--records", records)
    for task in found["tasks"]:
        assert task["certified"]
        assert task["bound"] <= task["best"] <= task["default"]
        assert task["space"]["name"] == "base"
    assert [task["name"] for task in found["tasks"]] == ["a", "b"]
    assert found["total"] == {
        key: sum(task[key] for task in found["tasks"]) for key in ("default", "best")
    }
    kept, damages = read_records(records)
    assert not damages
    # The default choices are recorded, too.
    assert len(kept) >= sum(task["measured"] for task in found["tasks"])


def test_the_wide_space_beats_the_default_and_is_compiled_from_records(records: Path) -> None:
    arguments = (*LAYERS, "--trials", 6, "--records", records, "--space", "wide")
    found = tuned(*arguments, "--explorer", "estimate")
    for task in found["tasks"]:
        assert task["space"]["name"] == "wide"
        assert task["best"] <= task["default"]
        assert ("part" in task["choice"]) == (task["best"] < task["default"])
    assert any("part" in task["choice"] for task in found["tasks"])
    base = tuned(*LAYERS, "--trials", 1, "--records", records)
    assert {task["space"]["name"] for task in base["tasks"]} == {"base"}


def test_layers_with_codes_are_tasks_of_their_own(records: Path) -> None:
    """What is measured and recorded is the layer as it would be compiled."""
    model = ("digits", "--config", "small8-w", "--memory", "edge", "--explorer", "estimate")
    arguments = (*model, "--trials", 1, "--records", records)
    plain = tuned(*arguments)
    coded = tuned(*arguments, "--weights-of", "blocks_blocks_2*=int4/16")
    kept, damages = read_records(records)
    assert not damages
    coded_ones = [record for record in kept if "coding" in str(record.workload)]
    # Of block 2 three layers, of three workloads, are in int4.
    assert len({str(record.workload) for record in coded_ones}) == 3
    assert len(kept) - len(coded_ones) >= len(plain["tasks"])
    assert coded["total"]["default"] < plain["total"]["default"]


def test_a_second_run_measures_nothing_and_finds_the_same(records: Path) -> None:
    arguments = (*LAYERS, "--trials", 6, "--records", records)
    first = tuned(*arguments)
    before = records.read_bytes()
    second = tuned(*arguments)
    assert records.read_bytes() == before
    assert first.pop("seconds") > 0
    second.pop("seconds")
    assert first == second
    assert sum(task["trials"] for task in first["tasks"]) == 2 * (6 + 1)


def test_a_run_that_was_torn_is_resumed(records: Path) -> None:
    arguments = (*LAYERS, "--trials", 6, "--records", records)
    first = tuned(*arguments)
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[:7]) + lines[7][:50])
    second = tuned(*arguments)
    assert [task["best"] for task in first["tasks"]] == [task["best"] for task in second["tasks"]]
    assert sorted(records.read_bytes().splitlines(keepends=True)) == sorted(lines)


@pytest.mark.parametrize("seed", seeds(1))
def test_the_number_of_processes_changes_nothing(seed: int) -> None:
    results = []
    for jobs in (1, 2):
        arguments = (*LAYERS, "--trials", 3, "--seed", seed, "--json", "--jobs", jobs)
        code, output, errors = invoke(*arguments)
        assert code == 0, errors
        results.append({**json.loads(output), "seconds": 0})
    assert results[0] == results[1]


def test_every_explorer_can_be_named() -> None:
    # Sketches are not candidates of a space: their explorer is not among these.
    assert {name.value for name in ExplorerName} == {*EXPLORERS, "sketches"}


def test_a_table(records: Path) -> None:
    code, output, _ = invoke(*LAYERS, "--trials", 4, "--jobs", 1)
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split() == [
        *("layer", "count", "trials", "default", "best", "bound", "gap", "certified")
    ]
    assert [line.split()[0] for line in lines[1:]] == ["a", "b", "total"]
    assert max(map(len, lines)) <= 80


def test_damaged_lines_are_reported(records: Path) -> None:
    records.write_text("{}\n")
    code, _, errors = invoke(*LAYERS, "--trials", 1, "--jobs", 1, "--records", records)
    assert code == 0
    assert errors.startswith(f"warning: {records}:1: skipped: ")


def test_records_of_other_files_are_merged(tmp_path: Path, records: Path) -> None:
    other = tmp_path / "other.jsonl"
    arguments = (*LAYERS, "--trials", 6)
    tuned(*arguments, "--records", other, "--seed", 1)
    for _ in range(2):
        tuned(*arguments, "--records", records, "--merge", other)
    kept = records.read_bytes().splitlines()
    assert set(kept) >= {*other.read_bytes().splitlines()}
    assert len({*kept}) == len(kept)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a MODEL or --layer: one of them"),
        (("--layer", "a=6,6,8,8,3,1,1", "--weights", "int4"), "--weights is of a MODEL"),
        (("digits", "--layer", "a=6,6,8,8,3,1,1"), "a MODEL or --layer: one of them"),
        (("--layer", "a=6,6"), "a=6,6"),
        (("--layer", "a=6,6,8,8,3,1,1", "--merge", "x"), "--merge adds to the file of --records"),
        (("--layer", "a=6,6,8,8,3,1,1", "--explorer", "luck"), "'luck' is not one of"),
        (("--layer", "a=6,6,8,8,3,1,1", "--trials", "0"), "greater than or equal to 1"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    code, _, errors = invoke(*arguments)
    assert code == 2
    assert message in " ".join(errors.replace("│", " ").split())


@pytest.mark.parametrize("place", ["/dev/full", "none/records", "/proc/records"])
def test_a_file_that_cannot_be_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = invoke(*LAYERS, "--trials", 1, "--jobs", 1, "--records", place)
    assert code == 1
    assert errors.startswith(f"error: {place}: ")
    assert errors.count("\n") == 1


def test_no_such_file_to_merge(records: Path) -> None:
    code, _, errors = invoke(*LAYERS, "--records", records, "--merge", "none.jsonl")
    assert (code, errors) == (1, "error: none.jsonl: No such file or directory\n")

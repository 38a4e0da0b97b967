"""`tandem tune --show`: what records know, without a measurement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.recorded import Identity, Proposer
from tandem.compiler.tune.records import Record, append_records, read_records
from tandem.compiler.tune.trial import Outcome
from tandem.scripts.cli import app
from tandem.workbench.recorded_workloads import recorded_workloads

LAYERS = ("--layer", "a=4,4,8,8,3,1,1", "--layer", "b=4,4,8,16,1,2,0", "--config", "small8")
IDENTITY = Identity("1", "accelerator", {"name": "tiny"}, "latency=16", "conv2d", {"data": [1, 2]})
INFINITE = float("inf")


def record(
    x: int, outcome: Outcome, explorer: str = "grid", identity: Identity = IDENTITY
) -> Record:
    choice: Choice = {"x": x}
    return identity.record(choice, outcome, INFINITE, Proposer(explorer, 0))


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def shown(*arguments: object) -> list[dict[str, Any]]:
    code, output, errors = invoke("--show", "--json", *arguments)
    assert code == 0, errors
    return json.loads(output)["tasks"]


def test_the_best_is_the_first_of_the_lowest_cost() -> None:
    (row,) = recorded_workloads(
        [
            record(1, Outcome.failed("too large")),
            record(2, Outcome.measured(30)),
            record(3, Outcome.measured(20), "random"),
            record(4, Outcome.measured(20)),
            record(5, Outcome.abandoned()),
            record(2, Outcome.measured(30), "random"),
        ]
    )
    assert row.trials == 5
    assert row.best is not None
    assert (row.best.cost, row.best.explorer, row.best.choice) == (20, "random", {"x": 3})
    assert row.name == "conv2d 1x2"


def test_a_row_for_each_machine_memory_template_and_workload() -> None:
    others = [
        replace(IDENTITY, machine={"name": "pynq"}),
        # Two machines of one name.
        replace(IDENTITY, machine={"name": "pynq", "log_acc_buffer": 7}),
        replace(IDENTITY, memory="latency=64"),
        replace(IDENTITY, template="dense"),
        replace(IDENTITY, workload={"data": [1, 3]}),
    ]
    found = [record(1, Outcome.measured(9), identity=one) for one in (IDENTITY, *others)]
    rows = recorded_workloads([*found, *found])
    assert [row.trials for row in rows] == [1] * 6
    # Rows of one machine with one memory stand together.
    assert [(row.machine, row.memory) for row in rows] == [
        *[("tiny", "latency=16")] * 3,
        *[("pynq", "latency=16")] * 2,
        ("tiny", "latency=64"),
    ]


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

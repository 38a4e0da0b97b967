"""`--records`: recorded schedules in `tandem compile` and `tandem run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from typer.testing import CliRunner

from tandem.compiler.tune.records import Record, append_records, read_records
from tandem.scripts.cli import app
from tandem.workbench.recorded_choices import nearest_machine
from tests.support.compiler.models.models import convolution

MACHINE = ("--config", "tiny")


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def json_of(*arguments: object) -> dict[str, Any]:
    code, output, errors = invoke(*arguments, "--json")
    assert code == 0, errors
    return json.loads(output)


def model_of(records: Path) -> Path:
    """The model that records are of."""
    return records.with_name("model.onnx")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Records of a few trials of a model beside them, and what tuning said of them."""
    path = tmp_path_factory.mktemp("tuned") / "records.jsonl"
    arguments = (
        "tune",
        convolution(model_of(path)),
        *MACHINE,
        "--trials",
        3,
        "--jobs",
        1,
        "--explorer",
        "estimate",
    )
    return path, json_of(*arguments, "--records", path)


def records_of(path: Path) -> list[Record]:
    return read_records(path)[0]


def test_run_takes_the_best_choices(tuned: tuple[Path, dict[str, Any]]) -> None:
    path, result = tuned
    found = json_of("run", model_of(path), *MACHINE, "--records", path, "--check")
    assert found["check"]["equal"]
    assert found["cycles"] == result["total"]["best"]
    best = {task["name"]: task["choice"] for task in result["tasks"]}
    assert {entry["layers"][0]: entry["choice"] for entry in found["tuned"]} == best
    workloads = [task["workload"] for task in result["tasks"]]
    assert [entry["workload"] for entry in found["tuned"]] == workloads


def test_without_records_nothing_is_tuned(tuned: tuple[Path, dict[str, Any]]) -> None:
    found = json_of("run", model_of(tuned[0]), *MACHINE)
    assert "tuned" not in found
    assert found["cycles"] == tuned[1]["total"]["default"]


def test_an_artifact_keeps_the_choices(tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path, result = tuned
    artifact = tmp_path / "digits.tandem"
    found = json_of("compile", model_of(path), *MACHINE, "--records", path, "-o", artifact)
    assert len(found["tuned"]) == len(result["tasks"])
    assert json_of("run", artifact)["cycles"] == result["total"]["best"]
    code, _, errors = invoke("run", artifact, "--records", path)
    assert code == 1
    assert "--records is for models" in errors


def test_records_of_another_memory_are_not_taken(tuned: tuple[Path, dict[str, Any]]) -> None:
    arguments = (
        "run",
        model_of(tuned[0]),
        *MACHINE,
        "--memory",
        "latency=17",
        "--records",
        tuned[0],
    )
    assert json_of(*arguments)["tuned"] == []
    code, output, _ = invoke(*arguments)
    assert code == 0
    count = sum(task["count"] for task in tuned[1]["tasks"])
    said = f"schedules: 0 of {count} layers by records, {count} by the compiler's estimate"
    assert said in output.splitlines()


def test_a_choice_that_does_not_fit_gives_way_to_the_estimate(
    tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    records = records_of(tuned[0])
    name = tuned[1]["tasks"][0]["workload"]
    changed = tmp_path / "changed.jsonl"
    for record in records:
        if record.workload == name:
            larger = {**record.choice, "x": 10_000}
            append_records(changed, [structs.replace(record, choice=larger)])
        else:
            append_records(changed, [record])
    found = json_of("run", model_of(tuned[0]), *MACHINE, "--records", changed)
    assert len(found["tuned"]) == len(tuned[1]["tasks"]) - 1
    assert name not in [entry["workload"] for entry in found["tuned"]]


def test_knobs_of_another_version_give_way_to_the_estimate(
    tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "changed.jsonl"
    append_records(
        path,
        [structs.replace(record, choice={"colour": 1}) for record in records_of(tuned[0])],
    )
    found = json_of("run", model_of(tuned[0]), *MACHINE, "--records", path)
    assert found["tuned"] == []
    assert found["cycles"] == tuned[1]["total"]["default"]


def test_choices_that_make_the_network_slower_are_not_taken(
    tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """A record that lies: tiles of one pixel seem to take one cycle."""
    path = tmp_path / "lies.jsonl"
    record = records_of(tuned[0])[0]
    # A choice of the base space, whichever the record's is of.
    loops = {knob: record.choice[knob] for knob in ("order", "along")}
    small = {**loops, "x": 1, "y": 1, "oc": 1, "ic": 1, "threads": 1}
    append_records(path, [structs.replace(record, choice=small, cost=1)])
    arguments = ("run", model_of(tuned[0]), *MACHINE, "--records", path)
    code, output, errors = invoke(*arguments)
    assert code == 0
    assert errors.startswith("warning: with the recorded schedules ")
    assert "schedules: 0 of" in output
    assert json_of(*arguments)["cycles"] == tuned[1]["total"]["default"]


def test_failures_are_no_choices(tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "failed.jsonl"
    code, _, errors = invoke("run", model_of(tuned[0]), *MACHINE, "--records", path)
    assert (code, errors) == (1, f"error: {path}: No such file or directory\n")
    path.write_text("nonsense\n")
    code, _, errors = invoke("run", model_of(tuned[0]), *MACHINE, "--records", path)
    assert code == 0
    assert errors.startswith(f"warning: {path}:1: skipped: ")


def test_records_of_other_machines_say_what_differs(tuned: tuple[Path, dict[str, Any]]) -> None:
    path = tuned[0]
    for arguments, difference in (
        (MACHINE, "memory latency=16,interval=1,in_flight=16 and not latency=17,interval=1,"),
        (("--config", "small8"), "compute_buffer 16 and not 256, fetch_buffer 8 and not 128, "),
    ):
        latency = ("--memory", "latency=17") if arguments == MACHINE else ()
        code, _, errors = invoke("run", model_of(path), *arguments, *latency, "--records", path)
        assert code == 0
        start = f"warning: {path}: records are of other machines; the nearest one has {difference}"
        assert errors.startswith(start)
        assert errors.count("\n") == 1


def test_the_nearest_machine_has_the_fewest_differences(tuned: tuple[Path, dict[str, Any]]) -> None:
    first = records_of(tuned[0])[0]
    zen = {"name": "zen", "features": ["avx2", "fma"], "threads": 1}
    records = [
        structs.replace(first, target="cpu", memory="", machine=machine)
        for machine in ({**zen, "threads": 4, "name": "alder"}, {**zen, "threads": 2})
    ]
    own = {"name": "zen", "features": ["fma", "sse4"], "threads": 1}
    assert nearest_machine([*records, first], "cpu", own, "", {"threads": "--threads"}) == (
        "the nearest one has threads 2 and not 1 (--threads), features with avx2, without sse4"
    )
    assert nearest_machine([first], "cpu", own, "") is None


def test_costs_that_no_trial_has_are_skipped_alike(
    tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Neither taken by one command and refused by another, nor an internal error."""
    path, first = tmp_path / "records.jsonl", records_of(tuned[0])[0]
    costs = (None, 1 << 70, 0, -5)
    append_records(path, [structs.replace(first, cost=cost) for cost in costs])
    shown = ("null", 1 << 70, 0, -5)
    warnings = [
        f"warning: {path}:{line}: skipped: cost is {cost}: that of a measured trial is cycles, a "
        f"whole number from 1 to {(1 << 63) - 1}"
        for line, cost in enumerate(shown, 1)
    ]
    for arguments in (
        ("run", model_of(tuned[0]), "--records", path),
        ("tune", "--show", "--records", path),
        ("tune", model_of(tuned[0]), "--trials", 1, "--jobs", 1, "--records", path),
    ):
        code, _, errors = invoke(*arguments, *MACHINE)
        assert code == 0, errors
        assert errors.splitlines() == warnings


def test_records_of_an_accelerator_tell_nothing_of_the_cpu(
    tuned: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    for verb in (("run",), ("compile", "-o", tmp_path / "x.tandem")):
        code, output, errors = invoke(
            *verb, model_of(tuned[0]), "--device", "cpu", "--records", tuned[0]
        )
        assert code == 0, errors
        assert "schedules: 0 of " in output

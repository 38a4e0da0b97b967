"""Files of records: nothing that was finished is lost, and damage is reported."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tandem.compiler.errors import RecordError
from tandem.compiler.tune.records import (
    Record,
    append_records,
    dump_records,
    merge_records,
    read_records,
)
from tandem.compiler.tune.trial import Status

OUTCOMES = st.one_of(
    st.tuples(st.just(Status.MEASURED), st.integers(1, 10**12), st.just("")),
    st.tuples(st.just(Status.ABANDONED), st.none(), st.just("")),
    st.tuples(st.just(Status.FAILED), st.none(), st.text()),
)


def record(
    cost: float | None = 1, status: Status = Status.MEASURED, reason: str = "", x: int = 1
) -> Record:
    return Record(
        tandem="1",
        target="accelerator",
        machine={"name": "tiny"},
        memory="latency=16",
        template="conv2d",
        workload={"is": "Conv2dWorkload"},
        choice={"x": x, "order": "image"},
        status=status,
        cost=cost,
        reason=reason,
        explorer="random",
        seed=0,
    )


def deep(levels: int) -> list[Any]:
    """A list in a list, and so on."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


RECORDS = st.builds(
    lambda outcome, x: record(outcome[1], outcome[0], outcome[2], x), OUTCOMES, st.integers(0, 99)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


@given(parts=st.lists(st.lists(RECORDS, max_size=3), max_size=4))
def test_what_is_appended_is_read_back(
    parts: list[list[Record]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("records") / "file"
    for part in parts:
        append_records(path, part)
    expected = [one for part in parts for one in part]
    assert (read_records(path) if parts else ([], [])) == (expected, [])


def test_one_line_each(path: Path) -> None:
    append_records(path, [record(), record(reason="two\nlines", status=Status.FAILED, cost=None)])
    assert path.read_text().count("\n") == 2


@pytest.mark.parametrize("kept", [1, 40, 200])
def test_a_torn_last_line_is_cut_off(path: Path, kept: int) -> None:
    append_records(path, [record(1), record(2)])
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    path.write_bytes(whole[: second + kept])
    assert read_records(path) == ([record(1)], [])
    append_records(path, [record(3)])
    assert read_records(path) == ([record(1), record(3)], [])


def test_a_long_torn_line_is_cut_off(path: Path) -> None:
    append_records(path, [record(1)])
    with path.open("ab") as file:
        file.write(b"x" * 200_000)
    append_records(path, [record(2)])
    assert read_records(path) == ([record(1), record(2)], [])


def test_a_file_that_is_one_torn_line(path: Path) -> None:
    path.write_bytes(b"{")
    append_records(path, [record(2)])
    assert read_records(path) == ([record(2)], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "truncated"),
        (b"\xff\xfe", "malformed|invalid"),
        (b"{}", "missing required field `tandem`"),
        (b"[]", "Expected `object`, got `array`"),
        (b"", "truncated"),
    ],
)
def test_damaged_lines_are_skipped_and_reported(path: Path, line: bytes, reason: str) -> None:
    append_records(path, [record(1)])
    with path.open("ab") as file:
        file.write(line + b"\n")
    append_records(path, [record(2)])
    records, (damage,) = read_records(path)
    assert records == [record(1), record(2)]
    assert (damage.path, damage.line) == (path, 2)
    assert str(damage).startswith(f"{path}:2: skipped: ")
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(damage.reason)


PROCESSOR = {"name": "zen", "features": ["avx2"], "threads": 2}


def on_cpu(**changes: Any) -> Record:
    """A record of a processor."""
    fields = {"target": "cpu", "machine": PROCESSOR, "memory": "", "cost": 1e-3}
    return structs.replace(record(), **{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        *(
            ({"cost": cost}, f"cost is {shown}: that of a measured trial is cycles, a whole number")
            for cost, shown in (
                (None, "null"),
                (0, "0"),
                (-5, "-5"),
                (1 << 70, 1 << 70),
                (1.5, 1.5),
            )
        ),
        ({"cost": 10**4000}, f"cost is 1{'0' * 39}...: that of a measured trial is cycles"),
        (
            {"cost": 3, "status": Status.ABANDONED},
            "cost is 3: a trial that is abandoned has none (null)",
        ),
        ({"cost": 3, "status": Status.FAILED}, "cost is 3: a trial that is failed has none (null)"),
        ({"default_cost": 0}, "default_cost is 0: it must be a number above 0"),
        (
            {"default_cost": 3, "cost": None, "status": Status.FAILED},
            "default_cost is 3: a trial that is failed has none",
        ),
        ({"limit": 0}, "limit is 0: it must be a number above 0, or null"),
        ({"limit": 10**400}, f"limit is 1{'0' * 39}...: it must be a number above 0, or null"),
        ({"choice": {"x": 1 << 70}}, "choice: x is 1180591620717411303424: it must lie in -2147"),
        ({"choice": {"": 1}}, "choice: the name of a knob is empty"),
        ({"workload": deep(200)}, "workload is nested more than 100 levels deep"),
        ({"tandem": ""}, "tandem is empty"),
        ({"template": ""}, "template is empty"),
        ({"target": ""}, "target is empty: it must be accelerator, cpu, or a target's name"),
        ({"explorer": ""}, "explorer is empty"),
        ({"seed": -1}, "seed is -1: it must be 0 or more"),
        ({"machine": {"name": "tiny", "log_batch": 9}}, "machine: log_batch is 9: it must lie in"),
        ({"machine": {"colour": 1}}, "machine: unknown key 'colour' (value 1)"),
        ({"memory": "slow"}, "memory 'slow': expected one of fast"),
    ],
)
def test_fields_that_no_trial_has(path: Path, changes: dict[str, Any], reason: str) -> None:
    append_records(path, [record(1), structs.replace(record(), **changes), record(2)])
    records, (damage,) = read_records(path)
    assert records == [record(1), record(2)]
    assert str(damage).startswith(f"{path}:2: skipped: {reason}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        *(
            (
                {"cost": cost},
                f"cost is {shown}: that of a measured trial is seconds, a number above",
            )
            for cost, shown in ((None, "null"), (0, "0"), (0.0, "0.0"), (-1e-3, "-0.001"))
        ),
        ({"memory": "fast"}, "memory is 'fast': records of a processor have an empty one"),
        ({"machine": {**PROCESSOR, "threads": 0}}, "machine: threads is 0: it must be a whole"),
        ({"machine": {**PROCESSOR, "threads": True}}, "machine: threads is True: it must be"),
        ({"machine": {**PROCESSOR, "name": ""}}, "machine: name is '': it must be a processor's"),
        ({"machine": {**PROCESSOR, "name": 7}}, "machine: name is 7: it must be a processor's"),
        (
            {"machine": {**PROCESSOR, "features": [7]}},
            "machine: features is [7]: it must be a list",
        ),
        ({"machine": {**PROCESSOR, "features": "avx"}}, "machine: features is 'avx': it must be"),
        ({"machine": {**PROCESSOR, "mhz": 3}}, "machine: 'mhz' is unknown; a processor has name"),
        ({"machine": {"name": "zen", "threads": 1}}, "machine: 'features' is missing; a processor"),
    ],
)
def test_fields_that_no_trial_of_a_processor_has(
    path: Path, changes: dict[str, Any], reason: str
) -> None:
    append_records(path, [on_cpu(), on_cpu(**changes), on_cpu(cost=1 << 70)])
    records, (damage,) = read_records(path)
    assert records == [on_cpu(), on_cpu(cost=1 << 70)]
    assert str(damage).startswith(f"{path}:2: skipped: {reason}")


def test_a_target_that_is_not_ours_has_machines_as_it_likes(path: Path) -> None:
    own = structs.replace(record(), target="dsp", machine={"scratch_bytes": 4096}, memory="sram")
    append_records(path, [own, structs.replace(own, cost=0)])
    records, (damage,) = read_records(path)
    assert records == [own]
    assert damage.reason == "cost is 0: that of a measured trial is a number above 0"


def test_a_line_nested_too_deeply_is_damage(path: Path) -> None:
    line = dump_records([record()]).replace(b'"workload":{"is":"Conv2dWorkload"}', b'"workload":W')
    path.write_bytes(line.replace(b"W", b"[" * 100_000 + b"]" * 100_000))
    records, (damage,) = read_records(path)
    assert not records
    assert "recursion" in damage.reason


def test_a_status_that_is_unknown(path: Path) -> None:
    append_records(path, [record(1)])
    path.write_bytes(path.read_bytes().replace(b'"measured"', b'"guessed"'))
    records, (damage,) = read_records(path)
    assert not records
    assert "guessed" in damage.reason


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="none: No such file or directory"):
        read_records(tmp_path / "none")
    with pytest.raises(RecordError, match="Is a directory"):
        append_records(tmp_path, [record()])
    with pytest.raises(RecordError, match="No such file or directory"):
        append_records(tmp_path / "none" / "file", [record()])


def test_a_full_disk_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_records(path, [record(1)])
    real = os.pwrite
    begun: list[int] = []

    def full(descriptor: int, data: bytes, offset: int) -> int:
        if begun:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        begun.append(offset)
        return real(descriptor, bytes(data)[:10], offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RecordError, match="No space left on device"):
        append_records(path, [record(2)])
    monkeypatch.undo()
    assert read_records(path) == ([record(1)], [])
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_devices_are_no_files(device: str) -> None:
    for use in (read_records, lambda path: append_records(path, [record(1)])):
        with pytest.raises(RecordError, match=f"{device}: not a regular file"):
            use(Path(device))


def _append(path: Path, first: int) -> None:
    for number in range(first, first + 50):
        append_records(path, [record(number)])


def test_two_processes_append_to_one_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append, args=(path, first)) for first in (1, 1000)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    records, damages = read_records(path)
    assert not damages
    costs = sorted(one.outcome.cost for one in records)
    assert costs == [*range(1, 51), *range(1000, 1050)]


def test_equal_records_are_merged() -> None:
    merged = merge_records([record(1), record(2)], [record(2), record(3)], [record(1)])
    assert merged == [record(1), record(2), record(3)]

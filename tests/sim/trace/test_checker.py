"""The checker of timelines finds what is wrong with one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tandem.sim.trace import timeline
from tests.support.sim.timelines import traced_run
from tests.support.sim.trace_events import faults

Records = list[dict[str, Any]]


def records() -> Records:
    run = traced_run()
    return list(timeline(run.result, run.program, run.labels))


def first(found: Records, **wanted: Any) -> dict[str, Any]:
    return next(each for each in found if wanted.items() <= each.items())


def test_a_right_one() -> None:
    assert faults(json.dumps({"traceEvents": records()})) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"traceEvents": [', "no JSON"),
        ('{"traceEvents": [{"ph": "X", "ts": NaN}]}', "NaN is no number"),
        ('{"traceEvents": [{"ph": "X", "ph": "X"}]}', "a key twice"),
        ('{"otherData": {}, "traceEvents": []}', "begins with its traceEvents"),
        ('{"traceEvents": []}', "no records"),
        ("[]", "begins with its traceEvents"),
    ],
)
def test_files(text: str, message: str) -> None:
    (fault,) = faults(text)
    assert message in fault


@pytest.mark.parametrize(
    ("wanted", "changes", "message"),
    [
        ({"ph": "X"}, {"ph": "Y"}, "no phase that is known"),
        ({"ph": "X"}, {"more": 1}, "X with the keys"),
        ({"ph": "X"}, {"tid": 0}, "thread 0"),
        ({"ph": "X"}, {"tid": 1}, "main thread"),
        ({"ph": "X"}, {"tid": True}, "thread True"),
        ({"ph": "X"}, {"pid": "1"}, "process '1'"),
        ({"ph": "X"}, {"ts": -1}, "ts is -1"),
        ({"ph": "X"}, {"ts": "1"}, "ts is '1'"),
        ({"ph": "X"}, {"ts": 0.00001}, "no nanosecond"),
        ({"ph": "X"}, {"dur": 0}, "dur is 0"),
        ({"ph": "X"}, {"dur": None}, "dur is None"),
        ({"ph": "X"}, {"name": ""}, "name is ''"),
        ({"ph": "X"}, {"cat": 3}, "cat is 3"),
        ({"ph": "X"}, {"args": {"a": None}}, "args are"),
        ({"ph": "X"}, {"args": {}}, "args are"),
        ({"ph": "C"}, {"args": {"%": "1"}}, "args are"),
        ({"ph": "f"}, {"bp": "s"}, "bp is 's'"),
        ({"ph": "s"}, {"id": "1"}, "id is '1'"),
        ({"name": "thread_name"}, {"args": {"name": ""}}, "args are"),
        ({"name": "thread_sort_index"}, {"args": {"sort_index": "1"}}, "args are"),
        ({"name": "thread_name"}, {"name": "thread_names"}, "args are"),
        ({"name": "thread_name"}, {"tid": 9}, "thread_name is given for"),
        ({"name": "process_name"}, {"pid": 2}, "process_name is given for"),
        ({"name": "thread_name"}, {"args": {"name": "store"}}, "2 tracks are store"),
        ({"name": "second"}, {"ts": 5}, "slices overlap on track 1000 at 5"),
        ({"ph": "C", "ts": 2}, {"ts": 6}, "multipliers busy has two values at 6"),
        ({"ph": "s"}, {"ts": 8}, "no slice at its s"),
        ({"ph": "f"}, {"ts": 8}, "no slice at its f"),
        ({"ph": "f"}, {"id": 7}, "ends where none is"),
        ({"ph": "f"}, {"id": 7}, "does not end"),
        ({"ph": "s"}, {"tid": 7000, "ts": 9}, "begins twice"),
    ],
)
def test_records(wanted: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    found = records()
    if message == "begins twice":
        found.append({**first(found, **wanted)})
    else:
        first(found, **wanted).update(changes)
    assert any(message in fault for fault in faults(json.dumps({"traceEvents": found})))


def test_ends_before_slices_belong_to_none() -> None:
    found = sorted(records(), key=lambda record: record["ph"] != "f")
    assert any("no slice at its f" in fault for fault in faults(json.dumps({"traceEvents": found})))


def test_time_after_text() -> None:
    found = records()
    slice_ = first(found, ph="X")
    slice_["ts"] = slice_.pop("ts")
    assert any("after text" in fault for fault in faults(json.dumps({"traceEvents": found})))

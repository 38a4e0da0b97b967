"""Traces: saved, read back, replayed on other shapes and with other numbers."""

from __future__ import annotations

import json
import random

import pytest

from compiler.errors import ReplayError, ScheduleError
from compiler.ir.buffer import Scope
from compiler.te.primitives import Hole, Split
from compiler.te.schedule import Schedule
from compiler.te.trace import holes, trace_from_json, trace_to_json
from tests.support.random_schedules import random_outputs, random_schedule
from tests.support.schedules import agree, blur, matmul

WITH_HOLE = (Split("C", "i", Hole("rows")),)


def scheduled(start: Schedule) -> Schedule:
    tiled = start.tile("blury", ("y", "x"), (4, 8), ("y", "x", "yi", "xi"))
    at = tiled.compute_at("blurx", "blury", "x").set_scope("blurx", Scope.LOCAL)
    return at.vectorize("blurx", "x", 4).vectorize("blury", "xi", 4).parallel("blury", "y")


def test_on_another_shape() -> None:
    trace = scheduled(Schedule.of(blur())).trace
    other = Schedule.of(blur(23, 9))
    agree(other.replay(trace), other)
    assert str(other.replay(trace)) == str(scheduled(other))


def test_holes() -> None:
    start = Schedule.of(matmul())
    open_trace = WITH_HOLE
    assert holes(open_trace) == ("rows",)
    for rows in (1, 2, 4):
        assert str(start.replay(open_trace, {"rows": rows})) == str(start.split("C", "i", rows))
    with pytest.raises(ReplayError, match="no choice for rows"):
        start.replay(open_trace)
    with pytest.raises(ReplayError, match="chosen for nothing: columns"):
        start.replay(open_trace, {"rows": 1, "columns": 2})
    with pytest.raises(ScheduleError, match="factor is left open: replay the trace with a choice"):
        start.then(open_trace[0])


def test_a_trace_survives_json() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        start = Schedule.of(*random_outputs(rng))
        trace = random_schedule(rng, start, 12)[0].trace
        assert trace_from_json(trace_to_json(trace)) == trace
    assert trace_from_json(trace_to_json(WITH_HOLE)) == WITH_HOLE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a trace must be JSON"),
        ("[" * 100_000, "a trace must be JSON"),
        ("[]", "a trace of format 1 is expected"),
        ('{"format": 2, "steps": []}', "a trace of format 1 is expected"),
        ('{"format": 1}', "a trace has a list of steps"),
        ('{"format": 1, "steps": [{"primitive": "explode"}]}', "step 0: .* is none of cache_read"),
        ('{"format": 1, "steps": [{"primitive": "split", "depth": 1}]}', "split has no depth"),
        ('{"format": 1, "steps": [{"primitive": "unroll", "stage": "C"}]}', "step 0: .*axis"),
        (
            '{"format": 1, "steps": [{"primitive": "unroll", "stage": 3, "axis": "i"}]}',
            "step 0, stage: 3 is no str",
        ),
        (
            '{"format": 1, "steps": [{"primitive": "set_scope", "buffer": "C", "scope": "moon"}]}',
            "step 0, scope: 'moon' is no Scope",
        ),
        (
            '{"format": 1, "steps": [{"primitive": "tensorize", "stage": "C", "axis": "i", '
            '"intrinsic": "dot"}]}',
            "there is no intrinsic dot",
        ),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        trace_from_json(text)


def test_json_is_a_step_a_line() -> None:
    trace = Schedule.of(matmul()).split("C", "i", 2).unroll("C", "i_i").trace
    lines = trace_to_json(trace).splitlines()
    assert len(lines) == 4
    assert json.loads("\n".join(lines))["format"] == 1

"""Traces: saved, read back, replayed on other shapes and with other numbers."""

from __future__ import annotations

import json
import random

import pytest

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te.knobs import knob, knobs_of
from tandem.compiler.te.primitives import Split
from tandem.compiler.te.schedule import Schedule, Sketch
from tandem.compiler.te.trace import trace_from_json, trace_to_json
from tests.support.compiler.te.random_schedules import random_outputs, random_schedule
from tests.support.compiler.te.schedules import agree, blur, matmul

OPEN = (Split("C", "i", knob("rows")),)


def scheduled(start: Schedule) -> Schedule:
    tiled = start.tile("blury", ("y", "x"), (4, 8), ("y", "x", "yi", "xi"))
    at = tiled.compute_at("blurx", "blury", "x").set_scope("blurx", Scope.LOCAL)
    return at.vectorize("blurx", "x", 4).vectorize("blury", "xi", 4).parallel("blury", "y")


def test_on_another_shape() -> None:
    trace = scheduled(Schedule.of(blur())).trace
    other = Schedule.of(blur(23, 9))
    agree(other.replay(trace), other)
    assert str(other.replay(trace)) == str(scheduled(other))


def test_knobs_of() -> None:
    start = Schedule.of(matmul())
    open_trace = OPEN
    assert knobs_of(open_trace) == ("rows",)
    for rows in (1, 2, 4):
        assert str(start.replay(open_trace, {"rows": rows})) == str(start.split("C", "i", rows))
    with pytest.raises(ReplayError, match="no choice for rows"):
        start.replay(open_trace)
    with pytest.raises(ReplayError, match="choices for unknown knobs: columns"):
        start.replay(open_trace, {"rows": 1, "columns": 2})
    with pytest.raises(ScheduleError, match="rows has no value: replay the trace with a choice"):
        start.then(open_trace[0])


def test_a_trace_survives_json() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        start = Schedule.of(*random_outputs(rng))
        trace = random_schedule(rng, start, 12)[0].trace
        assert trace_from_json(trace_to_json(trace)) == trace
    assert trace_from_json(trace_to_json(OPEN)) == OPEN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a trace must be JSON"),
        ("[" * 100_000, "a trace must be JSON"),
        ("[]", "a trace of format 2 is expected"),
        ('{"format": 1, "steps": []}', "a trace of format 2 is expected"),
        ('{"format": 2}', "a trace has a list of steps"),
        (
            '{"format": 2, "steps": [{"primitive": "explode"}]}',
            "step 0: .* is none of bind, cache_read",
        ),
        ('{"format": 2, "steps": [{"primitive": "split", "depth": 1}]}', "split has no depth"),
        ('{"format": 2, "steps": [{"primitive": "unroll", "stage": "C"}]}', "step 0: .*axis"),
        (
            '{"format": 2, "steps": [{"primitive": "unroll", "stage": 3, "axis": "i"}]}',
            "step 0, stage: 3: Expected `str`",
        ),
        (
            '{"format": 2, "steps": [{"primitive": "set_scope", "buffer": "C", "scope": 3}]}',
            "step 0, scope: 3: Expected `object`",
        ),
        (
            '{"format": 2, "steps": [{"primitive": "tensorize", "stage": "C", "axis": "i", '
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
    assert json.loads("\n".join(lines))["format"] == 2


def test_knobs_choose_loops_and_steps() -> None:
    start = Schedule.of(matmul())
    order = knob("order", {"rows": ("i", "j"), "columns": ("j", "i")})
    sketch = Sketch().reorder("C", order).when("unrolled", (1,), Sketch().unroll("C", "j"))
    trace = sketch.trace
    assert knobs_of(trace) == ("order", "unrolled")
    found = start.replay(trace, {"order": "columns", "unrolled": 1})
    assert str(found) == str(start.reorder("C", "j", "i").unroll("C", "j"))
    plain = start.replay(trace, {"order": "rows", "unrolled": 0})
    assert str(plain) == str(start.reorder("C", "i", "j"))
    with pytest.raises(ReplayError, match="order is around: rows, columns are its options"):
        start.replay(trace, {"order": "around", "unrolled": 0})
    assert trace_from_json(trace_to_json(trace)) == trace

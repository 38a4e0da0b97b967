"""What random primitives make of random programs stays what it was: programs, refusals, loops.

Other tests say that a schedule keeps the result; these say that it is the schedule that was asked
for, in the text of before and after lowering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.printer import text
from tandem.compiler.lower import lower
from tandem.compiler.lower.program_features import NestFeatures, features
from tandem.compiler.te.knobs import Choice, knob, knobs_of
from tandem.compiler.te.schedule import Schedule, Sketch
from tandem.compiler.te.trace import trace_from_json, trace_to_json
from tests.support.compiler.damaged_text import damaged_text
from tests.support.compiler.te.random_schedules import STEPS, random_outputs
from tests.support.compiler.te.schedules import matmul

CASES = 240
ATTEMPTS = 14


def _features(nest: NestFeatures) -> str:
    accesses = [
        f"{a.buffer.name} {a.writes} {a.accesses} {a.touched} {a.touched_bytes} {a.stride}"
        for a in nest.accesses
    ]
    loops = [f"{name} {kind.value} {count}" for name, kind, count in nest.loops]
    operations = sorted(Counter(nest.operations).items())
    return f"{loops} {nest.conditions} {operations} {accesses} {nest.intensity:.6g}"


def _case(seed: int) -> str:
    rng = Random(f"schedule {seed}")
    schedule, said = Schedule.of(*random_outputs(rng)), []
    for _ in range(ATTEMPTS):
        step = rng.choice(STEPS)(rng, schedule)
        if step is None:
            continue
        try:
            schedule = schedule.then(step)
        except ScheduleError as error:
            said.append(f"{step}: {type(error).__name__} {error}")
    lowered = lower(schedule.program)
    return "\n".join(
        [
            trace_to_json(schedule.trace),
            *said,
            str(schedule),
            text(lowered),
            *map(_features, features(lowered)),
        ]
    )


def test_schedules(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/te/schedules.txt", [_case(seed) for seed in range(CASES)])


def _open_trace() -> str:
    """A trace with every kind of knob and step."""
    order = knob("order", {"rows": ("i", "j"), "columns": ("j", "i")})
    sketch = Sketch().split("C", "k", knob("terms")).reorder("C", order)
    cached = Sketch().cache_read("A", ("C",), Scope.LOCAL, "near").compute_at("near", "C", "i")
    inner = cached.set_layout("near", ("1", "0/2", "0%2")).multi_buffer("near", 2)
    sketch = sketch.when("cached", (1, 2), inner).unroll("C", "k_i")
    return trace_to_json(sketch.vectorize("C", "j", reassociate=True).trace)


def _replayed(text: str) -> str:
    try:
        trace = trace_from_json(text)
        choice: Choice = {"order": "rows", "terms": 2, "cached": 1}
        found = Schedule.of(matmul()).replay(trace, choice)
    except (ReplayError, ScheduleError) as error:
        return f"{type(error).__name__}: {error}"
    return f"{knobs_of(trace)}\n{found}"


def test_damaged_traces(recorded: Callable[[str, Sequence[str]], None]) -> None:
    whole, found = _open_trace(), []
    for seed in range(300):
        text = damaged_text(Random(f"trace {seed}"), whole)
        found.append(f"{_replayed(text)}\n{text}")
    recorded("recorded/te/damaged_traces.txt", found)

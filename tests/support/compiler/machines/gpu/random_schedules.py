"""Random primitives with loops bound to blocks and threads, and buffers that blocks share."""

from __future__ import annotations

import random
from collections.abc import Callable

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import Alloc, LoopKind
from tandem.compiler.ir.visit import blocks, loops, statements
from tandem.compiler.machines.gpu.launch import SHARED
from tandem.compiler.te.primitives import Bind, CacheRead, MultiBuffer, Primitive, SetScope
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import LoopRef
from tests.support.compiler.te import random_schedules as plain

_NEAR = (Scope.LOCAL, SHARED, SHARED)


def random_bound_schedule(rng: random.Random, start: Schedule, attempts: int) -> Schedule:
    """A schedule after random primitives, with a loop over threads in each nest if there can be,
    and buffers that are allocated in loops near the threads."""
    schedule = start
    for _ in range(attempts):
        schedule = _attempt(schedule, rng.choice(_STEPS)(rng, schedule))
    names = [each.var.name for each in loops(schedule.program.body)]
    for name in rng.sample(names, len(names)):
        schedule = _attempt(schedule, Bind(*LoopRef.of(name), "threads"))
    for buffer in _inside_loops(schedule):
        schedule = _attempt(schedule, SetScope(buffer, rng.choice(_NEAR)))
    return schedule


def _attempt(schedule: Schedule, step: Primitive | None) -> Schedule:
    if step is None:
        return schedule
    try:
        return schedule.then(step)
    except ScheduleError:
        return schedule


def _inside_loops(schedule: Schedule) -> list[str]:
    """The buffers that are allocated inside of loops."""
    return [
        stmt.buffer.name
        for loop in loops(schedule.program.body)
        for stmt in statements(loop.body)
        if isinstance(stmt, Alloc) and stmt.buffer.scope == Scope.GLOBAL
    ]


def _outermost_to_blocks(rng: random.Random, schedule: Schedule) -> Primitive | None:
    stage = rng.choice([each.name for each in blocks(schedule.program.body)])
    found = [each for each in loops(schedule.program.body) if LoopRef.of(each).stage == stage]
    serial = [each for each in found if each.kind is LoopKind.SERIAL]
    return Bind(*LoopRef.of(serial[0]), "blocks") if serial and serial[0] is found[0] else None


def _shared_copy(rng: random.Random, schedule: Schedule) -> Primitive | None:
    stage = rng.choice([each.name for each in blocks(schedule.program.body)])
    buffer = rng.choice(schedule.program.inputs)
    return CacheRead(buffer.name, (stage,), SHARED)


def _slots(rng: random.Random, schedule: Schedule) -> Primitive | None:
    inside = _inside_loops(schedule)
    return MultiBuffer(rng.choice(inside), 2) if inside else None


_STEPS: tuple[Callable[[random.Random, Schedule], Primitive | None], ...] = (
    *(each for each in plain.STEPS if each.__name__ not in ("_bind", "_set_scope", "_cache_write")),
    _outermost_to_blocks,
    _outermost_to_blocks,
    _shared_copy,
    _shared_copy,
    _slots,
)

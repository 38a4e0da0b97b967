"""A schedule for any operators: good where memory is the limit, decent elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from compiler.errors import ScheduleError
from compiler.ir.expr import Load
from compiler.ir.stmt import Block, Function, IterKind, LoopKind, Store
from compiler.ir.visit import blocks, expressions, statements, subexpressions
from compiler.operators.cpu.lanes import Axis, nest_of, run_in_lanes
from compiler.operators.cpu.simd import Simd
from compiler.te import Tensor
from compiler.te.roles import feeds
from compiler.te.schedule import Schedule
from compiler.te.tree import allocated, block_called, extent_of, loops_among, path_to, read_by

__all__ = ["cpu_schedule", "inline_stages"]

_WORTH_THREADS = 1 << 15
"""Turns of all loops inside a parallel one that pay for waking threads."""
_REPEATED = 1.25
"""How much more of a stage may be computed so that it happens close to its reader."""


def cpu_schedule(
    *outputs: Tensor,
    simd: Simd,
    inputs: Sequence[Tensor] = (),
    reassociate: bool = False,
    name: str | None = None,
) -> Schedule:
    """Element-wise stages inlined, the others near their readers, outer loops on threads, inner
    ones in vectors.

    Parameters
    ----------
    outputs, inputs, name
        As `Schedule.of` takes them.
    reassociate
        Floats may be added in another order, which changes roundings: sums along rows are then
        many times as fast.
    """
    schedule = inline_stages(Schedule.of(*outputs, inputs=inputs, name=name))
    stages = [each.name for each in blocks(schedule.program.body)]
    if any(nest_of(schedule, each).empty for each in stages):
        return schedule
    schedule, homes = _near_readers(schedule, stages)
    for stage in stages:
        schedule = run_in_lanes(schedule, stage, simd, reassociate=reassociate)
    for stage in stages:
        if homes[stage] == stage:
            schedule = _on_threads(schedule, stage)
    return schedule


def _near_readers(schedule: Schedule, stages: Sequence[str]) -> tuple[Schedule, dict[str, str]]:
    """Stages inside the outer loop of what reads them, if all of it is in one; and for each stage
    the one whose loop it is in."""
    homes: dict[str, str] = {}
    for stage in reversed(stages):
        homes[stage] = stage
        body = schedule.program.body
        readers = {homes[each.name] for each in blocks(body) if stage in read_by(each)} - {stage}
        if stage not in allocated(body) or len(readers) != 1:
            continue
        (home,) = readers
        axis = _outer(schedule, home)
        moved = None if axis is None else _moved(schedule, stage, home, axis)
        if moved is not None:
            schedule, homes[stage] = moved, home
    return schedule, homes


def _moved(schedule: Schedule, stage: str, home: str, axis: Axis) -> Schedule | None:
    """The stage inside its reader's loop, unless that is impossible or repeats work."""
    try:
        moved = schedule.compute_at(stage, home, axis.name)
    except ScheduleError:
        return None
    return moved if _work(moved, stage) <= _REPEATED * _work(schedule, stage) else None


def _on_threads(schedule: Schedule, stage: str) -> Schedule:
    """The stage's outermost loop over elements spread over threads, if that is worth it."""
    body = schedule.program.body
    block = block_called(body, stage)
    assert block is not None
    for loop in loops_among(path_to(body, block)):
        if feeds(loop.var.name, block) != {IterKind.SPATIAL} or loop.kind is not LoopKind.SERIAL:
            break
        if extent_of(loop) > 1:
            work = sum(_work(schedule, each.name) for each in blocks(loop))
            if work < _WORTH_THREADS:
                break
            return schedule.parallel(stage, loop.var.name.partition(".")[2])
    return schedule


def _outer(schedule: Schedule, stage: str) -> Axis | None:
    """The outermost loop, if another one over elements is left inside for vectors."""
    long = [each for each in nest_of(schedule, stage).spatial if each.extent > 1]
    return long[0] if len(long) > 1 else None


def _work(schedule: Schedule, stage: str) -> int:
    """Turns of all loops around a stage's block."""
    body = schedule.program.body
    block = block_called(body, stage)
    assert block is not None
    return prod(extent_of(each) for each in loops_among(path_to(body, block)))


_LONGEST = 200
"""Parts of an expression beyond which nothing more is put into it."""


def inline_stages(schedule: Schedule) -> Schedule:
    """Without the stages whose elements only one stage reads, each about once.

    Element-wise operators so become one with their reader; what is read several times, as a padded
    image by a convolution, stays. A stage that only moves elements goes into whatever reads
    elements one by one.
    """
    for name in [each.name for each in blocks(schedule.program.body)]:
        if _can_go(schedule.program, name):
            schedule = schedule.compute_inline(name)
    return schedule


def _can_go(program: Function, name: str) -> bool:
    block = next(each for each in blocks(program.body) if each.name == name)
    if block.init is not None or name not in allocated(program.body):
        return False
    readers = [each for each in blocks(program.body) if name in read_by(each)]
    if len(readers) != 1:
        return False
    reader = readers[0]
    if len({load.indices for load in _loads(reader, name)}) > 1:
        return False
    length = _length(block) * len(_loads(reader, name)) + _length(reader)
    moves = isinstance(block.body, Store) and isinstance(block.body.value, Load)
    once = _turns(reader) <= _turns(block) or (moves and reader.init is None)
    return once and length <= _LONGEST


def _loads(block: Block, name: str) -> list[Load]:
    return [
        each
        for stmt in statements(block)
        for expr in expressions(stmt)
        for each in subexpressions(expr)
        if isinstance(each, Load) and each.buffer.name == name
    ]


def _length(block: Block) -> int:
    exprs = [expr for stmt in statements(block.body) for expr in expressions(stmt)]
    return sum(1 for expr in exprs for _ in subexpressions(expr))


def _turns(block: Block) -> int:
    return prod(each.extent for each in block.iters)

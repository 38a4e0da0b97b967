"""A CPU schedule for any operators, tuned for memory-bound operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.stmt import Block, IterKind, LoopKind, PrimFunc, Store
from tandem.compiler.ir.visit import blocks, expressions, statements, subexpressions
from tandem.compiler.machines.cpu.schedules.lanes import (
    Axis,
    divisor,
    innermost_of,
    nest_of,
    row_axis,
    run_in_lanes,
)
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.te import Tensor
from tandem.compiler.te.dependences import axis_kinds
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import (
    allocated,
    extent_of,
    find_block,
    loops_on_path,
    path_to,
    read_by,
)

_WORTH_THREADS = 1 << 15
"""The minimum number of iterations in a parallel loop: fewer cost less than waking threads."""
_REPEATED = 1.25
"""The maximum factor of recomputation when a stage moves into its reader or into its loop. Readers
that pad, such as blocks of channels, have a few iterations more."""
_BLOCK_ROWS = 8
_BLOCK_ELEMENTS = 1 << 13
"""The most rows, and elements, in a block that is reduced and then read again from a near cache."""
_IN_CACHE = 1 << 20
"""The maximum number of terms that are read a second time rather than summed row by row."""


def cpu_schedule(
    *outputs: Tensor,
    simd: Simd,
    inputs: Sequence[Tensor] = (),
    reassociate: bool = False,
    name: str | None = None,
    inlined: Sequence[str] = (),
) -> Schedule:
    """A schedule with element-wise stages inlined and other stages moved into their readers' loops;
    outer loops are parallel, inner loops vectorized.

    Parameters
    ----------
    outputs, inputs, name
        Parameters of `Schedule.of`.
    reassociate
        Whether floats may be added in another order: sums along rows are many times as fast, with
        other rounding errors.
    inlined
        Stages that are computed wherever they are read.
    """
    schedule = Schedule.of(*outputs, inputs=inputs, name=name)
    for stage in inlined:
        schedule = schedule.compute_inline(stage)
    return scheduled_stages(schedule, simd, reassociate=reassociate)


def scheduled_stages(schedule: Schedule, simd: Simd, *, reassociate: bool = False) -> Schedule:
    """The initial schedule of any expressions, scheduled as `cpu_schedule` does."""
    schedule = inline_stages(schedule)
    stages = [each.name for each in blocks(schedule.program.body)]
    if any(nest_of(schedule, each).empty for each in stages):
        return schedule
    schedule, owners = _near_readers(schedule, stages, reassociate)
    for stage in stages:
        schedule = run_in_lanes(schedule, stage, simd, reassociate=reassociate)
    for stage in stages:
        if owners[stage] == stage:
            schedule = _on_threads(schedule, stage)
    return schedule


def _near_readers(
    schedule: Schedule, stages: Sequence[str], reassociate: bool
) -> tuple[Schedule, dict[str, str]]:
    """The schedule with stages computed at the outer loop of their readers, if all readers are in
    one loop nest; and for each stage the stage that owns its outer loop."""
    owners: dict[str, str] = {}
    rows: dict[str, str] = {}
    for stage in reversed(stages):
        owners[stage] = stage
        body = schedule.program.body
        readers = {owners[each.name] for each in blocks(body) if stage in read_by(each)} - {stage}
        if stage not in allocated(body) or len(readers) != 1:
            continue
        (owner,) = readers
        found = None
        if blocked := _in_blocks(schedule, owner, rows):
            found = _moved(blocked[0], stage, owner, blocked[1], reassociate)
        if blocked and found is not None:
            rows[owner] = blocked[1]
        elif (axis := _outer(schedule, owner)) is not None:
            found = _moved(schedule, stage, owner, axis.name, reassociate)
        if found is not None:
            schedule, owners[stage] = found, owner
    return schedule, owners


def _reads_sums(schedule: Schedule, stage: str) -> bool:
    """Whether a stage that is no reduction reads sums of rows, directly or through other stages,
    and so may read rows again that they were computed from."""
    found = {each.name: each for each in blocks(schedule.program.body)}
    seen, waiting = {stage}, [stage]
    while waiting:
        for name in (read_by(found[waiting.pop()]) & found.keys()) - seen:
            if found[name].init is not None and _elements(found[name]) < _elements(found[stage]):
                return found[stage].init is None
            seen.add(name)
            waiting.append(name)
    return False


def _elements(block: Block) -> int:
    """The number of elements that a block computes."""
    return prod(each.extent for each in block.iters if each.kind is IterKind.SPATIAL)


def _in_blocks(
    schedule: Schedule, stage: str, rows: Mapping[str, str]
) -> tuple[Schedule, str] | None:
    """The schedule with a loop over blocks of a stage's rows, and the loop's axis; `rows` has those
    that were made before. None if there are no blocks, or if a near cache does not hold one."""
    if stage in rows:
        return schedule, rows[stage]
    if not _reads_sums(schedule, stage):
        return None
    long = [each for each in nest_of(schedule, stage).spatial if each.extent > 1]
    if len(long) < 2:
        return None
    outer, row = long[-2:]
    count = divisor(outer.extent, min(_BLOCK_ROWS, max(1, _BLOCK_ELEMENTS // row.extent)))
    axes = (outer.name, f"{outer.name}_b")
    return schedule.split(stage, outer.name, count, axes), outer.name


def _moved(
    schedule: Schedule, stage: str, owner: str, axis: str, reassociate: bool
) -> Schedule | None:
    """The schedule with the stage in its reader's loop; None if illegal, if work is repeated, or if
    one row would be summed after the other."""
    try:
        moved = schedule.compute_at(stage, owner, axis)
    except ScheduleError:
        return None
    if not reassociate and _work(schedule, stage) <= _IN_CACHE:
        inside = innermost_of(moved, nest_of(moved, stage))
        if row_axis(nest_of(schedule, stage)) is not None and row_axis(inside) is None:
            return None
    return moved if _work(moved, stage) <= _REPEATED * _work(schedule, stage) else None


def _on_threads(schedule: Schedule, stage: str) -> Schedule:
    """The schedule with the stage's outermost spatial loop parallel, if there is enough work."""
    body = schedule.program.body
    block = find_block(body, stage)
    assert block is not None
    for loop in loops_on_path(path_to(body, block)):
        if (
            axis_kinds(loop.var.name, block) != {IterKind.SPATIAL}
            or loop.kind is not LoopKind.SERIAL
        ):
            break
        if extent_of(loop) > 1:
            work = sum(_work(schedule, each.name) for each in blocks(loop))
            if work < _WORTH_THREADS:
                break
            return schedule.parallel(stage, loop.var.name.partition(".")[2])
    return schedule


def _outer(schedule: Schedule, stage: str) -> Axis | None:
    """The outermost spatial loop, if another spatial loop remains inside to be vectorized."""
    long = [each for each in nest_of(schedule, stage).spatial if each.extent > 1]
    return long[0] if len(long) > 1 else None


def _work(schedule: Schedule, stage: str) -> int:
    """The number of iterations of a stage's block."""
    body = schedule.program.body
    block = find_block(body, stage)
    assert block is not None
    return prod(extent_of(each) for each in loops_on_path(path_to(body, block)))


_LONGEST = 200
"""The maximum number of nodes of an expression after inlining."""


def inline_stages(schedule: Schedule, kept: Sequence[str] = ()) -> Schedule:
    """Inline stages whose elements are read by one stage, about once each; not those `kept`.

    Element-wise operators are thus inlined; a stage whose elements are read several times, such as
    a convolution's padded image, is not. A stage that only moves elements is inlined into any stage
    that is no reduction.
    """
    for name in [each.name for each in blocks(schedule.program.body)]:
        if name not in kept and _can_inline(schedule.program, name):
            schedule = schedule.compute_inline(name)
    return schedule


def _can_inline(program: PrimFunc, name: str) -> bool:
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
    once = _iterations(reader) <= _REPEATED * _iterations(block) or (moves and reader.init is None)
    return once and length <= _LONGEST


def _loads(block: Block, name: str) -> list[Load]:
    return [
        part
        for stmt in statements(block)
        for expr in expressions(stmt)
        for part in subexpressions(expr)
        if isinstance(part, Load) and part.buffer.name == name
    ]


def _length(block: Block) -> int:
    exprs = [expr for stmt in statements(block.body) for expr in expressions(stmt)]
    return sum(1 for expr in exprs for _ in subexpressions(expr))


def _iterations(block: Block) -> int:
    return prod(each.extent for each in block.iters)

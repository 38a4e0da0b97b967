"""Several reductions of one row in one launch, as of a softmax or a normalisation.

A block has a row. What it finds of the row, and what it makes of each element before the last
operator, lies in shared memory, so that the row is read from global memory, and written, by one
launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.stmt import Block, IterKind
from tandem.compiler.ir.visit import blocks
from tandem.compiler.machines.gpu.launch import SHARED
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.trees import Tree, on_lanes
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated, axes_of, extent_of, find_block, find_loop

_ROW, _LANE, _STEP = "row", "lane", "step"


def by_rows(schedule: Schedule, trees: Sequence[Tree], machine: GpuMachine) -> Schedule | None:
    """The schedule with all stages in a loop over rows of the last one, which has a block for each
    row; None where its stages are no such thing, or do not fit into a block's memory.

    Parameters
    ----------
    trees
        Its reductions, which were not scheduled yet.
    """
    *before, root = blocks(schedule.program.body)
    of_trees = {name for tree in trees for name in (tree.partial, *tree.levels)}
    plain = [each for each in before if each.name not in of_trees]
    if not trees or any(each.axes(IterKind.REDUCE) for each in (*plain, root)):
        return None
    own = _row_axes(schedule, root, trees)
    if own is None or not _fits(schedule, plain, trees, own[1], machine):
        return None
    leading, rows = own
    threads = max(tree.threads for tree in trees)
    try:
        schedule = _fused(schedule, root.name, axes_of(schedule.program.body, root.name)[:leading])
        for block in reversed(before):
            schedule = schedule.set_scope(block.name, SHARED)
            schedule = schedule.compute_at(block.name, root.name, _ROW)
        for tree in trees:
            schedule = on_lanes(schedule, tree)
        for block in plain:
            schedule = _on_lanes(schedule, block.name, 0, threads)
        schedule = _on_lanes(schedule, root.name, 1, threads)
        schedule = schedule.bind(root.name, _ROW, "blocks")
    except ScheduleError:
        return None
    return schedule if _once(schedule, plain, rows) else None


def _row_axes(schedule: Schedule, root: Block, trees: Sequence[Tree]) -> tuple[int, int] | None:
    """How many of the last stage's axes, from the first on, count rows, and how many rows there
    are; None if an element of a reduction is not of a row."""
    sizes = {_elements(schedule, tree) for tree in trees}
    if len(sizes) > 1:
        return None
    (rows,) = sizes
    extents = [each.extent for each in root.iters]
    for leading in range(1, len(extents)):
        if prod(extents[:leading]) == rows:
            return leading, rows
    return None


def _elements(schedule: Schedule, tree: Tree) -> int:
    """The elements of a tree's result."""
    block = find_block(schedule.program.body, tree.partial)
    assert block is not None, "it is never inlined"
    return prod(each.extent for each in block.axes(IterKind.SPATIAL)) // tree.threads


def _fits(
    schedule: Schedule,
    plain: Sequence[Block],
    trees: Sequence[Tree],
    rows: int,
    machine: GpuMachine,
) -> bool:
    """Whether what a block keeps of a row fits into its memory."""
    buffers = allocated(schedule.program.body)
    kept = [buffers[each.name] for each in plain]
    needed = sum(-(-each.size // rows) * each.dtype.holder.numpy.itemsize for each in kept)
    for tree in trees:
        # Levels have half as many elements as the one before each.
        needed += 2 * tree.threads * buffers[tree.partial].dtype.holder.numpy.itemsize
    return needed <= machine.shared_bytes


def _fused(schedule: Schedule, stage: str, axes: Sequence[str]) -> Schedule:
    """The schedule with loops as one, over rows."""
    first, *others = axes
    if not others:
        return schedule.split(stage, first, 1, (_ROW, f"{first}_one"))
    for axis in others:
        schedule = schedule.fuse(stage, first, axis, _ROW)
        first = _ROW
    return schedule


def _on_lanes(schedule: Schedule, stage: str, skipped: int, threads: int) -> Schedule:
    """The schedule with a stage's loops inside of a row on the threads of a block; a single element
    is left to the first thread.

    Parameters
    ----------
    skipped
        Loops of the stage around these.
    """
    axes = axes_of(schedule.program.body, stage)[skipped:]
    long = [each for each in axes if _extent(schedule, stage, each) > 1]
    if not long:
        return schedule
    first, *others = long
    for axis in others:
        schedule = schedule.fuse(stage, first, axis, "element")
        first = "element"
    size = _extent(schedule, stage, first)
    schedule = schedule.split(stage, first, min(threads, size), (_STEP, _LANE))
    return schedule.reorder(stage, _LANE, _STEP).bind(stage, _LANE, "threads")


def _extent(schedule: Schedule, stage: str, axis: str) -> int:
    loop = find_loop(schedule.program.body, f"{stage}.{axis}")
    assert loop is not None, "an axis of the stage"
    return extent_of(loop)


def _once(schedule: Schedule, plain: Sequence[Block], rows: int) -> bool:
    """Whether each element of a stage is computed for one row."""
    for before in plain:
        axes = axes_of(schedule.program.body, before.name)
        computed = prod(_extent(schedule, before.name, axis) for axis in axes)
        if computed * rows > _REPEATED * prod(each.extent for each in before.iters):
            return False
    return True


_REPEATED = 1.5
"""Iterations for an element: rows are divided among threads, of which the last ones may idle."""

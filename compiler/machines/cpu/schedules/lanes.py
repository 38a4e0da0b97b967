"""Vectorization of one stage: the loops to vectorize and unroll, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Load,
    Reinterpret,
    Var,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)
from tandem.compiler.ir.stmt import Block, For, IterKind, LoopKind
from tandem.compiler.ir.strides import accesses, row_length, stride, strides
from tandem.compiler.ir.visit import expressions, statements, subexpressions
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.te.dependences import reassociable
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of, find_block, find_loop, path_to


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a block with its own loop."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Nest:
    """The serial loops over a stage's axes, outermost first."""

    stage: str
    block: Block
    spatial: tuple[Axis, ...]
    reduced: tuple[Axis, ...]

    @property
    def empty(self) -> bool:
        """Whether a loop has no iterations."""
        return any(each.extent == 0 for each in (*self.spatial, *self.reduced))


def nest_of(schedule: Schedule, stage: str) -> Nest:
    """The `Nest` of serial loops around the stage's block that are named after its axes."""
    block = find_block(schedule.program.body, stage)
    assert block is not None
    found: dict[IterKind, list[Axis]] = {IterKind.SPATIAL: [], IterKind.REDUCE: []}
    for iter_ in block.iters:
        loop = find_loop(schedule.program.body, f"{stage}.{iter_.var.name}")
        if loop is not None and loop.kind is LoopKind.SERIAL:
            found[iter_.kind].append(Axis(iter_.var.name, extent_of(loop)))
    return Nest(stage, block, tuple(found[IterKind.SPATIAL]), tuple(found[IterKind.REDUCE]))


def innermost_of(schedule: Schedule, nest: Nest) -> Nest:
    """The nest without spatial loops that also contain other stages."""
    tight = set()
    for stmt in reversed(path_to(schedule.program.body, nest.block)[:-1]):
        if not isinstance(stmt, For):
            break
        tight.add(stmt.var.name)
    kept = tuple(each for each in nest.spatial if f"{nest.stage}.{each.name}" in tight)
    return replace(nest, spatial=kept)


_UNROLL = 4
"""The number of accumulator vectors: the latency of an addition, in cycles."""
_MOST_SUMS = 8
"""The maximum number of accumulator vectors, tiled along two axes that share loads."""
_FEW_TERMS = 25
"""The most terms of a sum that are written out: vectors then need not cross from one iteration to
the next, which costs those of odd numbers of lanes dearly."""
_FEW = 4
"""The minimum number of iterations of a vectorized loop of a reduction."""
_ROWS = 8
"""Sums of rows that advance together: the latency of an addition times additions per cycle."""
_CHEAP = frozenset((BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX))
"""Operations of which a processor begins one or more in a cycle, without vectors too."""


def run_in_lanes(
    schedule: Schedule, stage: str, simd: Simd, *, reassociate: bool = False
) -> Schedule:
    """The schedule with one loop of the stage vectorized, if a loop is suitable.

    Suitable loops access contiguous memory: a spatial loop if possible, so that no sum is split,
    else a reduction loop, if the order of terms does not matter or `reassociate` permits another
    order. Without such a loop, sums of several rows advance together if their terms are cheap
    (`row_axis`), else lanes gather elements at a constant stride.
    """
    nest = innermost_of(schedule, nest_of(schedule, stage))
    if nest.empty:
        return schedule
    lanes = _lanes(nest.block, simd)
    if not nest.reduced:
        axis = _innermost(nest.spatial, 2)
        return schedule if axis is None else _vectorize_spatial(schedule, nest, axis, lanes)
    axis, over = _innermost(nest.spatial, _FEW), _innermost(nest.reduced, _FEW)
    if axis is not None and _strides(nest.block, axis) <= {0, 1}:
        return _vectorize_accumulators(schedule, nest, axis, lanes)
    if over is not None and _strides(nest.block, over) <= {0, 1}:
        if reassociate or reassociable(nest.block):
            return _vectorize_reduction(schedule, nest, over, lanes * _UNROLL, reassociate)
    rows = row_axis(nest)
    if rows is not None and not reassociate:
        return _interleave_rows(schedule, nest, rows)
    if axis is not None and None not in _strides(nest.block, axis):
        return _vectorize_accumulators(schedule, nest, axis, lanes)
    return schedule


def row_axis(nest: Nest) -> Axis | None:
    """The axis of the rows that a stage sums, if terms lie one after the other in memory, have to
    be added in their order, and are cheap; else None.

    An addition waits for the one before it, so that a single row takes some four times as long as
    several that advance together.
    """
    axis, over = _innermost(nest.spatial, _FEW), _innermost(nest.reduced, _FEW)
    if axis is None or over is None or reassociable(nest.block) or not _is_cheap(nest.block):
        return None
    across = _strides(nest.block, axis)
    if across <= {0, 1} or None in across or _shared(nest, axis) is not None:
        return None
    return axis if _strides(nest.block, over) <= {0, 1} else None


def _is_cheap(block: Block) -> bool:
    """Whether a block computes nothing but sums, products and extrema of what it loads."""
    for stmt in statements(block.body):
        for expr in expressions(stmt):
            for part in subexpressions(expr):
                match part:
                    case Binary(op=op) if op in _CHEAP:
                        pass
                    case Load() | Var() | Const():
                        pass
                    case _:
                        return False
    return True


def _interleave_rows(schedule: Schedule, nest: Nest, axis: Axis) -> Schedule:
    """Sum several rows at once, an accumulator for each, with each row's terms in their order."""
    terms = [each.name for each in nest.reduced]
    rows = f"{axis.name}_r"
    schedule, parts = _parts(schedule, nest.stage, axis, _ROWS)
    for part, extent in parts:
        order = [*terms, axis.name]
        if extent > _ROWS:
            schedule = schedule.split(part, axis.name, _ROWS, (axis.name, rows))
            order = [axis.name, *terms, rows]
        schedule = schedule.reorder(part, *order).unroll(part, order[-1])
        schedule = schedule.decompose_reduction(part, terms[0])
    return schedule


def _vectorize_spatial(schedule: Schedule, nest: Nest, axis: Axis, lanes: int) -> Schedule:
    """Vectorize the innermost spatial loop of a stage without a reduction."""
    stage, name = nest.stage, axis.name
    suffix = "tail"
    if None in _strides(nest.block, axis):
        # Fused axes: the lanes of a vector read one row of the tensor. The last row may be short.
        row = row_length(nest.block, name)
        if row is None or not _FEW <= row <= axis.extent:
            return schedule
        rest = axis.extent % row
        if rest:
            schedule = schedule.partition(stage, name, axis.extent - rest)
            schedule = schedule.vectorize(f"{stage}_tail", name)
            suffix = "row_tail"
        if row < axis.extent - rest:
            schedule = schedule.split(stage, axis.name, row, (axis.name, f"{name}_row"))
            name = f"{name}_row"
        axis = Axis(name, row)
    near = _contiguous(nest, axis)
    schedule, parts = _parts(schedule, stage, axis, lanes, suffix)
    for part, extent in parts:
        if extent <= lanes:
            schedule = schedule.vectorize(part, name)
            continue
        schedule = schedule.vectorize(part, name, lanes)
        if near is not None and len(parts) == 1:
            # Lanes gather a column; the next column lies in the same cache lines.
            between = [each.name for each in nest.spatial if each != axis]
            schedule = schedule.reorder(stage, name, *between[between.index(near.name) :])
    return schedule


def _contiguous(nest: Nest, axis: Axis) -> Axis | None:
    """The axis that is contiguous in the accesses that are strided along `axis`, if any."""
    far = [each for each in accesses(nest.block) if stride(each, axis.name) not in (0, 1)]
    others = (each for each in nest.spatial if each != axis and each.extent > 1)
    return next((each for each in others if 1 in strides(far, each.name)), None)


def _vectorize_accumulators(schedule: Schedule, nest: Nest, axis: Axis, lanes: int) -> Schedule:
    """Keep accumulators in vectors along `axis`, tiled along an axis that shares loads."""
    stage, name = nest.stage, axis.name
    terms = [each.name for each in nest.reduced]
    other = _shared(nest, axis)
    carried = divisor(axis.extent // lanes, _UNROLL)
    several = 1 if other is None else divisor(other.extent, _MOST_SUMS // carried)
    inner: list[str] = []
    if other is not None and several > 1:
        inner = [f"{other.name}_u"]
        outside = [each.name for each in nest.spatial if each != axis]
        schedule = schedule.split(stage, other.name, several, (other.name, *inner))
        schedule = schedule.reorder(stage, *outside, name, *inner)
    schedule, parts = _parts(schedule, stage, axis, lanes)
    for part, extent in parts:
        if extent <= lanes:
            order = [*terms, *inner, name]
        else:
            schedule = schedule.split(part, name, carried * lanes, (name, f"{name}_u"))
            schedule = schedule.split(part, f"{name}_u", lanes, (f"{name}_u", f"{name}_v"))
            order = [name, *terms, *inner, f"{name}_u", f"{name}_v"]
        schedule = schedule.reorder(part, *order)
        for loop in order[order.index(terms[-1]) + 1 : -1]:
            schedule = schedule.unroll(part, loop)
        schedule = schedule.vectorize(part, order[-1]).decompose_reduction(part, terms[0])
        for loop in _written_out(nest.reduced):
            schedule = schedule.unroll(part, loop)
    return schedule


def _written_out(axes: Sequence[Axis]) -> list[str]:
    """The innermost reduction axes that together have few terms."""
    found: list[str] = []
    terms = 1
    for axis in reversed(axes):
        terms *= axis.extent
        if terms > _FEW_TERMS:
            break
        found.append(axis.name)
    return found


def _vectorize_reduction(
    schedule: Schedule, nest: Nest, over: Axis, lanes: int, reassociate: bool
) -> Schedule:
    """Vectorize a reduction loop: lanes reduce terms of the same result."""
    stage = nest.stage
    others = [each.name for each in nest.reduced if each != over]
    if others:
        schedule = schedule.reorder(stage, *others, over.name, reassociate=reassociate)
    schedule = schedule.decompose_reduction(stage, [*others, over.name][0])
    schedule, parts = _parts(schedule, stage, over, lanes)
    for part, extent in parts:
        factor = None if extent <= lanes else lanes
        schedule = schedule.vectorize(part, over.name, factor, reassociate=reassociate)
    return schedule


def _parts(
    schedule: Schedule, stage: str, axis: Axis, lanes: int, suffix: str = "tail"
) -> tuple[Schedule, list[tuple[str, int]]]:
    """Partition a loop into whole vectors and a remainder, so that no vector needs a mask; the
    remainder's stage has the suffix.

    Returns the stages of both parts with their extents.
    """
    rest = axis.extent % lanes
    if axis.extent < lanes or not rest:
        return schedule, [(stage, axis.extent)]
    whole = axis.extent - rest
    schedule = schedule.partition(stage, axis.name, whole, suffix)
    return schedule, [(stage, whole), (f"{stage}_{suffix}", rest)]


def divisor(number: int, most: int) -> int:
    """The greatest divisor of `number` up to `most`; 1 if there is none."""
    return max(each for each in range(1, max(most, 1) + 1) if number % each == 0 or each == 1)


def _shared(nest: Nest, axis: Axis) -> Axis | None:
    """The innermost spatial axis, other than `axis`, whose iterations share loads."""
    loads = [each for each in accesses(nest.block) if each.buffer.name != nest.stage]
    others = (each for each in reversed(nest.spatial) if each != axis and each.extent > 1)
    return next((each for each in others if 0 in strides(loads, each.name)), None)


def _innermost(axes: Sequence[Axis], least: int) -> Axis | None:
    """The innermost axis of more than one iteration; None if its extent is under `least`."""
    long = [each for each in axes if each.extent > 1]
    return long[-1] if long and long[-1].extent >= least else None


def _strides(block: Block, axis: Axis) -> set[int | None]:
    """The strides of a block's accesses along an axis; None for a non-constant stride."""
    return strides(accesses(block), axis.name)


def _lanes(block: Block, simd: Simd) -> int:
    """The number of lanes in a register for the widest type in a block."""
    kinds = {each.buffer.dtype for each in accesses(block)}
    for stmt in statements(block.body):
        for expr in expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Cast | Reinterpret) and part.dtype != INDEX:
                    kinds.add(part.dtype)
    return max(1, simd.bytes * 8 // max(8, *(each.bits for each in kinds)))

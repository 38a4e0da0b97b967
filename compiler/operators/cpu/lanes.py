"""One stage's loops: which are the lanes of vectors, which are unrolled, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Cast
from compiler.ir.stmt import Block, For, IterKind, LoopKind
from compiler.ir.strides import accesses, row_length, stride, strides
from compiler.ir.visit import expressions, statements, subexpressions
from compiler.operators.cpu.simd import Simd
from compiler.te.roles import any_order
from compiler.te.schedule import Schedule
from compiler.te.tree import block_called, extent_of, loop_called, path_to

__all__ = ["Axis", "Nest", "innermost_of", "nest_of", "run_in_lanes"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A block's axis that has a loop of its own."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Nest:
    """A stage's own serial loops, outermost first."""

    stage: str
    block: Block
    spatial: tuple[Axis, ...]
    reduced: tuple[Axis, ...]

    @property
    def empty(self) -> bool:
        """Nothing ever runs."""
        return any(each.extent == 0 for each in (*self.spatial, *self.reduced))


def nest_of(schedule: Schedule, stage: str) -> Nest:
    """The loops that are still called as the axes of the stage's block."""
    block = block_called(schedule.program.body, stage)
    assert block is not None
    found: dict[IterKind, list[Axis]] = {IterKind.SPATIAL: [], IterKind.REDUCE: []}
    for each in block.iters:
        loop = loop_called(schedule.program.body, f"{stage}.{each.var.name}")
        if loop is not None and loop.kind is LoopKind.SERIAL:
            found[each.kind].append(Axis(each.var.name, extent_of(loop)))
    return Nest(stage, block, tuple(found[IterKind.SPATIAL]), tuple(found[IterKind.REDUCE]))


def innermost_of(schedule: Schedule, nest: Nest) -> Nest:
    """Without the loops that hold other stages as well."""
    tight = set()
    for each in reversed(path_to(schedule.program.body, nest.block)[:-1]):
        if not isinstance(each, For):
            break
        tight.add(each.var.name)
    kept = tuple(each for each in nest.spatial if f"{nest.stage}.{each.name}" in tight)
    return replace(nest, spatial=kept)


_UNROLL = 4
"""Vectors of sums that are carried at once: an addition takes that many cycles."""
_MOST_SUMS = 8
"""Vectors of sums carried at once if those of two axes share what they read."""
_FEW = 4
"""Turns from which on a vector is worth it where terms are joined."""


def run_in_lanes(
    schedule: Schedule, stage: str, simd: Simd, *, reassociate: bool = False
) -> Schedule:
    """The stage with one of its loops in the lanes of vectors, if any is fit for it.

    That is the loop over neighbours in memory: over elements if it can be, so that no sum is split,
    else over terms, where their order does not matter or `reassociate` permits another. Where
    neither has neighbours, lanes gather elements that are equally far from each other.
    """
    nest = innermost_of(schedule, nest_of(schedule, stage))
    if nest.empty:
        return schedule
    lanes = _lanes(nest.block, simd)
    if not nest.reduced:
        axis = _innermost(nest.spatial, 2)
        return schedule if axis is None else _elements(schedule, nest, axis, lanes)
    axis, over = _innermost(nest.spatial, _FEW), _innermost(nest.reduced, _FEW)
    if axis is not None and _apart(nest.block, axis) <= {0, 1}:
        return _sums(schedule, nest, axis, lanes)
    if over is not None and _apart(nest.block, over) <= {0, 1}:
        if reassociate or any_order(nest.block):
            return _terms(schedule, nest, over, lanes * _UNROLL, reassociate)
    if axis is not None and None not in _apart(nest.block, axis):
        return _sums(schedule, nest, axis, lanes)
    return schedule


def _elements(schedule: Schedule, nest: Nest, axis: Axis, lanes: int) -> Schedule:
    """No terms to join: the last loop of some length, in vectors."""
    stage, name = nest.stage, axis.name
    if None in _apart(nest.block, axis):
        # Joined axes: lanes stay within one row of what is read.
        row = row_length(nest.block, name)
        if row is None or row < _FEW or axis.extent % row:
            return schedule
        if row < axis.extent:
            name = f"{name}_row"
            schedule = schedule.split(stage, axis.name, row, (axis.name, name))
        axis = Axis(name, row)
    near = _contiguous(nest, axis)
    schedule, parts = _parts(schedule, stage, axis, lanes)
    for part, turns in parts:
        if turns <= lanes:
            schedule = schedule.vectorize(part, name)
            continue
        schedule = schedule.vectorize(part, name, lanes)
        if near is not None and len(parts) == 1:
            # Lanes gather a column. The next one lies in the same cache lines: take it next.
            between = [each.name for each in nest.spatial if each != axis]
            schedule = schedule.reorder(stage, name, *between[between.index(near.name) :])
    return schedule


def _contiguous(nest: Nest, axis: Axis) -> Axis | None:
    """The axis along which elements are neighbours that `axis` only reaches in strides."""
    far = [each for each in accesses(nest.block) if stride(each, axis.name) not in (0, 1)]
    others = (each for each in nest.spatial if each != axis and each.extent > 1)
    return next((each for each in others if 1 in strides(far, each.name)), None)


def _sums(schedule: Schedule, nest: Nest, axis: Axis, lanes: int) -> Schedule:
    """Several vectors of sums carried through all terms: of neighbours and, where its turns share
    what they read, of a second axis."""
    stage, name = nest.stage, axis.name
    terms = [each.name for each in nest.reduced]
    other = _shared(nest, axis)
    carried = _divisor(axis.extent // lanes, _UNROLL)
    several = 1 if other is None else _divisor(other.extent, _MOST_SUMS // carried)
    inner: list[str] = []
    if other is not None and several > 1:
        inner = [f"{other.name}_u"]
        outside = [each.name for each in nest.spatial if each != axis]
        schedule = schedule.split(stage, other.name, several, (other.name, *inner))
        schedule = schedule.reorder(stage, *outside, name, *inner)
    schedule, parts = _parts(schedule, stage, axis, lanes)
    for part, turns in parts:
        if turns <= lanes:
            order = [*terms, *inner, name]
        else:
            schedule = schedule.split(part, name, carried * lanes, (name, f"{name}_u"))
            schedule = schedule.split(part, f"{name}_u", lanes, (f"{name}_u", f"{name}_v"))
            order = [name, *terms, *inner, f"{name}_u", f"{name}_v"]
        schedule = schedule.reorder(part, *order)
        for each in order[order.index(terms[-1]) + 1 : -1]:
            schedule = schedule.unroll(part, each)
        schedule = schedule.vectorize(part, order[-1]).decompose_reduction(part, terms[0])
    return schedule


def _terms(schedule: Schedule, nest: Nest, over: Axis, lanes: int, reassociate: bool) -> Schedule:
    """One sum at a time, many of its terms at once."""
    stage = nest.stage
    others = [each.name for each in nest.reduced if each != over]
    if others:
        schedule = schedule.reorder(stage, *others, over.name, reassociate=reassociate)
    schedule = schedule.decompose_reduction(stage, [*others, over.name][0])
    schedule, parts = _parts(schedule, stage, over, lanes)
    for part, turns in parts:
        factor = None if turns <= lanes else lanes
        schedule = schedule.vectorize(part, over.name, factor, reassociate=reassociate)
    return schedule


def _parts(
    schedule: Schedule, stage: str, axis: Axis, lanes: int
) -> tuple[Schedule, list[tuple[str, int]]]:
    """The loop cut into whole vectors and the rest, so that neither needs a mask: the stages of
    both with their turns."""
    rest = axis.extent % lanes
    if axis.extent < lanes or not rest:
        return schedule, [(stage, axis.extent)]
    whole = axis.extent - rest
    return schedule.partition(stage, axis.name, whole), [(stage, whole), (f"{stage}_tail", rest)]


def _divisor(number: int, most: int) -> int:
    """The greatest divisor that is no more than `most`; 1 of 0."""
    return max(each for each in range(1, max(most, 1) + 1) if number % each == 0 or each == 1)


def _shared(nest: Nest, axis: Axis) -> Axis | None:
    """The innermost other axis whose turns read some of the same elements."""
    loads = [each for each in accesses(nest.block) if each.buffer.name != nest.stage]
    others = (each for each in reversed(nest.spatial) if each != axis and each.extent > 1)
    return next((each for each in others if 0 in strides(loads, each.name)), None)


def _innermost(axes: Sequence[Axis], least: int) -> Axis | None:
    """The innermost axis that has more than one turn, if it has at least so many."""
    long = [each for each in axes if each.extent > 1]
    return long[-1] if long and long[-1].extent >= least else None


def _apart(block: Block, axis: Axis) -> set[int | None]:
    """How far apart the elements are that lanes along an axis touch."""
    return strides(accesses(block), axis.name)


def _lanes(block: Block, simd: Simd) -> int:
    """Lanes of the widest type that a block works with."""
    kinds = {each.buffer.dtype for each in accesses(block)}
    for stmt in statements(block.body):
        for expr in expressions(stmt):
            casts = (each.dtype for each in subexpressions(expr) if isinstance(each, Cast))
            kinds |= {each for each in casts if each != INDEX}
    return max(1, simd.bytes * 8 // max(8, *(each.bits for each in kinds)))

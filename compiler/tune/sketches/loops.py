"""The innermost loops of stages without a register tile of their own: vectors and unrolling."""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.stmt import Block
from tandem.compiler.ir.strides import accesses, strides
from tandem.compiler.ir.visit import variables
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import (
    block_of,
    is_reassociable,
    is_reduction,
    loop_extents,
    perfect_loops,
    reduced,
    widest_bits,
)
from tandem.compiler.tune.sketches.terms import write_out_terms

_FEW: Final = 4
"""The fewest iterations of a loop of vectors of a reduction."""
_MOST_UNROLLED: Final = 8
_LONGEST_VECTOR: Final = 8
"""The most registers of a loop that is one vector."""


def schedule_loops(builder: Builder, stage: str) -> None:
    """Decide which of a stage's innermost loops are vectors, and which are written out."""
    block = block_of(builder.program, stage)
    if is_reduction(block):
        _reduce(builder, stage, block)
    else:
        _point_wise(builder, stage, block)


def _driven(block: Block, loop: str) -> str:
    """The block's axis that a loop of a stage drives: the one with its name, but for suffixes."""
    return next(
        (axis.var.name for axis in block.iters if f"{block.name}.{loop}" in variables(axis.value)),
        "",
    )


def _along(block: Block, loop: str) -> set[int | None]:
    """The strides of a block's accesses along the axis that a loop drives."""
    return strides(accesses(block), _driven(block, loop))


def _inner(builder: Builder, stage: str, block: Block) -> list[str]:
    """The spatial loops directly around a block, of more than one iteration, outermost first; of a
    stage at the root those inside its tile, if there are any."""
    extents = loop_extents(builder.program, stage)
    terms = set(reduced(block))
    outer = set(builder.outer.get(stage, ()))
    near = [
        axis
        for axis in perfect_loops(builder.program, stage)
        if extents[axis] > 1 and _driven(block, axis) not in terms
    ]
    return [axis for axis in near if axis not in outer]


def _point_wise(builder: Builder, stage: str, block: Block) -> None:
    label = builder.labels.get(stage, stage)
    loops = _inner(builder, stage, block)
    good = [axis for axis in loops if _along(block, axis) <= {0, 1}]
    possible = good or [axis for axis in loops if None not in _along(block, axis)][-1:]
    if not possible:
        return
    vector = str(builder.choose(f"{label}.lanes", possible[-2:]))
    schedule = builder.schedule
    if vector != loops[-1]:
        schedule = schedule.reorder(stage, *(axis for axis in loops if axis != vector), vector)
    others = [axis for axis in loops if axis != vector]
    extents = loop_extents(builder.program, stage)
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    extent = extents[vector]
    sizes = [extent] if extent <= _LONGEST_VECTOR * lanes else []
    sizes += [count * lanes for count in (1, 2, 4) if count * lanes < extent]
    size = builder.number(f"{label}.vector", sizes)
    schedule, parts = _in_parts(schedule, stage, vector, extent, size)
    written = bool(others) and extents[others[-1]] <= _MOST_UNROLLED
    if written and not builder.choose(f"{label}.unroll", (0, 1)):
        written = False
    for part, count in parts:
        schedule = schedule.vectorize(part, vector, size if count > size else None)
    builder.schedule = schedule.unroll(stage, others[-1]) if written else schedule


def _reduce(builder: Builder, stage: str, block: Block) -> None:
    label = builder.labels.get(stage, stage)
    loops, terms = _inner(builder, stage, block), list(reduced(block))
    extents = loop_extents(builder.program, stage)
    free = is_reassociable(block) or builder.rules.reassociate
    long = [axis for axis in loops if extents[axis] >= _FEW]
    contiguous = [axis for axis in long if _along(block, axis) <= {0, 1}]
    strided = [axis for axis in long if None not in _along(block, axis)]
    last = [
        axis
        for axis in terms
        if extents[axis] >= _FEW and free and strides(accesses(block), axis) <= {0, 1}
    ]
    modes: list[Setting] = []
    modes += ["lanes"] if strided else []
    modes += ["terms"] if last else []
    modes += ["rows"] if loops else []
    match str(builder.choose(f"{label}.mode", modes or ["plain"])):
        case "lanes":
            _in_lanes(builder, stage, block, loops, contiguous or strided)
        case "terms":
            _along_terms(builder, stage, terms, last[-1], extents[last[-1]], block)
        case "rows":
            _in_rows(builder, stage, loops, terms)
        case _:
            pass


def _in_lanes(
    builder: Builder, stage: str, block: Block, loops: list[str], possible: list[str]
) -> None:
    """Keep results in the lanes of vectors, and some vectors side by side. What whole vectors leave
    of a loop is a vector of its own."""
    label = builder.labels.get(stage, stage)
    vector = str(builder.choose(f"{label}.lanes", possible[-2:]))
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    extents = loop_extents(builder.program, stage)
    extent = extents[vector]
    sizes = [count * lanes for count in (1, 2, 4) if count * lanes <= extent]
    size = builder.number(f"{label}.vector", sizes or [extent])
    others = [axis for axis in loops if axis != vector]
    schedule, inner = builder.schedule, []
    if others:
        options = [n for n in (1, 2, 4) if extents[others[-1]] % n == 0]
        side = builder.number(f"{label}.beside", options)
        if side > 1:
            inner.append(f"{others[-1]}_u")
            schedule = schedule.split(stage, others[-1], side, (others[-1], inner[0]))
    builder.schedule = schedule.reorder(stage, *others, vector, *reduced(block), *inner)
    terms, written = write_out_terms(
        builder, label, stage, list(reduced(block)), extents, max(1, size // lanes)
    )
    schedule, parts = _in_parts(builder.schedule, stage, vector, extent, size)
    for part, count in parts:
        order = [*terms, *inner, vector]
        if count > size:
            schedule = schedule.split(part, vector, size, (vector, f"{vector}_v"))
            order = [vector, *terms, *inner, f"{vector}_v"]
        schedule = schedule.reorder(part, *order)
        for axis in (*written, *inner):
            schedule = schedule.unroll(part, axis)
        schedule = schedule.vectorize(part, order[-1]).decompose_reduction(part, terms[0])
    builder.schedule = schedule


def _in_parts(
    schedule: Schedule, stage: str, axis: str, extent: int, size: int
) -> tuple[Schedule, list[tuple[str, int]]]:
    """Partition a loop into whole vectors and what they leave: both stages, and their extents."""
    rest = extent % size
    if extent <= size or not rest:
        return schedule, [(stage, extent)]
    schedule = schedule.partition(stage, axis, extent - rest)
    return schedule, [(stage, extent - rest), (f"{stage}_tail", rest)]


def _along_terms(
    builder: Builder, stage: str, terms: list[str], over: str, extent: int, block: Block
) -> None:
    """Reduce the terms of one result in the lanes of vectors."""
    label, again = builder.labels.get(stage, stage), builder.rules.reassociate
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    others = [axis for axis in terms if axis != over]
    schedule = builder.schedule
    if others:
        schedule = schedule.reorder(stage, *others, over, reassociate=again)
    schedule = schedule.decompose_reduction(stage, (*others, over)[0])
    size = builder.number(f"{label}.vector", (lanes, 2 * lanes, 4 * lanes))
    schedule, parts = _in_parts(schedule, stage, over, extent, size)
    for part, count in parts:
        factor = size if count > size else None
        schedule = schedule.vectorize(part, over, factor, reassociate=again)
    builder.schedule = schedule


def _in_rows(builder: Builder, stage: str, loops: list[str], terms: list[str]) -> None:
    """Reduce several rows beside each other, without vectors."""
    label = builder.labels.get(stage, stage)
    extents = loop_extents(builder.program, stage)
    axis = loops[-1]
    sizes = [size for size in (1, 2, 4, 8) if extents[axis] % size == 0]
    size = builder.number(f"{label}.beside", sizes)
    schedule = builder.schedule
    if size > 1:
        inner = f"{axis}_u"
        schedule = schedule.split(stage, axis, size, (axis, inner))
        schedule = schedule.reorder(stage, *loops, *terms, inner).unroll(stage, inner)
    builder.schedule = schedule.decompose_reduction(stage, terms[0])

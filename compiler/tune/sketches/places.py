"""Where stages are computed: at the root, or in the outer loops of the stage that reads them."""

from __future__ import annotations

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.choosers import ROOT
from tandem.compiler.tune.sketches.stages import (
    block_of,
    executed,
    is_intermediate,
    loop_extents,
    readers_of,
    spatial,
    widest_bits,
)
from tandem.compiler.tune.sketches.tiles import divisions

_LONGEST_TILE = 64


def place(builder: Builder, stage: str) -> None:
    """Decide where a stage is computed; at the root it gets outer loops, which others may join."""
    owner = _only_owner(builder, stage)
    label = builder.labels.get(stage, stage)
    builder.owners[stage] = stage
    if owner is not None:
        extents = loop_extents(builder.program, owner)
        loops = [axis for axis in builder.outer[owner] if extents[axis] > 1]
        once = executed(builder.program, stage)

        def moved(value: Setting) -> Schedule:
            if value == ROOT:
                return builder.schedule
            schedule = builder.schedule.compute_at(stage, owner, loops[int(value)])
            if executed(schedule.program, stage) > once * builder.rules.most_repeated:
                raise ScheduleError(f"compute_at({stage})", "elements are computed too often")
            return schedule.set_scope(stage, Scope.LOCAL)

        options: tuple[Setting, ...] = (ROOT, *range(len(loops)))
        if builder.attempt(f"{label}.at", options, moved) != ROOT:
            builder.owners[stage] = owner
            return
    _split_outer(builder, stage, label)


def _only_owner(builder: Builder, stage: str) -> str | None:
    """The stage whose outer loops are around all readers of a stage."""
    if not is_intermediate(builder.program, stage):
        return None
    owners = {builder.owners[each.name] for each in readers_of(builder.program, stage)}
    if len(owners) != 1:
        return None
    (owner,) = owners
    return owner if owner in builder.outer else None


def _split_outer(builder: Builder, stage: str, label: str) -> None:
    """Split the spatial loops of a stage at the root into outer ones and those of a tile."""
    block = block_of(builder.program, stage)
    axes = spatial(block)
    extents = loop_extents(builder.program, stage)
    long = [axis for axis in axes if extents[axis] > 1]
    schedule, inner = builder.schedule, []
    for at, axis in enumerate(axes):
        if axis not in long[-2:]:
            continue
        sizes = divisions(extents[axis], _LONGEST_TILE)
        if axis == long[-1] and stage in builder.partial:
            sizes = (extents[axis],)
        elif axis == long[-1]:
            lanes = max(1, builder.rules.register_bits // widest_bits(block))
            sizes = tuple(sorted({*(n for n in sizes if n % lanes == 0), extents[axis]}))
        size = builder.number(f"{label}.tile.{at}", sizes)
        if size > 1:
            schedule = schedule.split(stage, axis, size, (axis, f"{axis}_t"))
            inner.append(f"{axis}_t")
    if inner:
        schedule = schedule.reorder(stage, *axes, *inner)
    builder.schedule = schedule
    builder.outer[stage] = axes

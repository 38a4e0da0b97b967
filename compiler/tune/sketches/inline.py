"""Stages that are computed wherever they are read."""

from __future__ import annotations

from typing import Final

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.visit import blocks
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import (
    block_of,
    is_intermediate,
    is_reduction,
    iterations,
    length,
    loads_of,
    readers_of,
)

_ONCE: Final = 1.25
"""How often the elements of a stage are read at most that is inlined in any case."""
_LONGEST: Final = 200
"""The most nodes of an expression after inlining."""


def inline_stages(builder: Builder) -> None:
    """Inline stages whose elements are read about once each; of others that do not reduce it is a
    decision."""
    for stage in [each.name for each in blocks(builder.program.body)]:
        options = _options(builder, stage)
        if builder.choose(f"{builder.labels[stage]}.inline", options):
            builder.schedule = builder.schedule.compute_inline(stage)


def _options(builder: Builder, stage: str) -> tuple[int, ...]:
    """Whether a stage may be inlined (1), or stay (0)."""
    program = builder.program
    block = block_of(program, stage)
    if is_reduction(block) or not is_intermediate(program, stage):
        return (0,)
    readers = readers_of(program, stage)
    if not readers or iterations(block) == 0:
        return (0,)
    loads = {reader.name: len(loads_of(reader, stage)) for reader in readers}
    if any(length(block) * loads[each.name] + length(each) > _LONGEST for each in readers):
        return (0,)
    repeated = sum(iterations(each) * loads[each.name] for each in readers) / iterations(block)
    if repeated > builder.rules.most_repeated * _ONCE:
        return (0,)
    try:
        builder.schedule.compute_inline(stage)
    except ScheduleError:
        return (0,)
    different = {load.indices for reader in readers for load in loads_of(reader, stage)}
    return (1,) if repeated <= _ONCE and len(different) == 1 else (0, 1)

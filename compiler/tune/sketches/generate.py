"""The generator: a schedule of tensor expressions, from decisions that somebody makes."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.ir.stmt import For, LoopKind
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import LoopRef, extent_of, find_loop
from tandem.compiler.tune.sketches.anchors import anchor_of, tile_anchor
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.choosers import Chooser
from tandem.compiler.tune.sketches.inline import inline_stages
from tandem.compiler.tune.sketches.loops import schedule_loops
from tandem.compiler.tune.sketches.partial_sums import factor_terms
from tandem.compiler.tune.sketches.places import place
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.stages import iterations
from tandem.compiler.tune.sketches.trace import SketchTrace

_CHUNKS = 4
"""The parts of a parallel loop for each thread, if there are so many."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A generated schedule, and the decisions that it came of."""

    schedule: Schedule
    trace: SketchTrace


def generate(
    start: Schedule, rules: SketchRules, constants: frozenset[str], chooser: Chooser
) -> Sketch:
    """The sketch of a program with these decisions.

    Parameters
    ----------
    start
        The initial schedule of the expressions.
    constants
        The inputs that are known when the program is compiled: copies of them in another order
        cost nothing.

    Raises
    ------
    ScheduleError
        A decision cannot be carried out on this program.
    ReplayError
        The chooser's trace does not fit the program.
    """
    builder = Builder.of(start, rules, constants, chooser)
    inline_stages(builder)
    if any(iterations(block) == 0 for block in blocks(builder.program.body)):
        return Sketch(builder.schedule, builder.trace)
    while remaining := _without_place(builder):
        stage = remaining[-1]
        anchor = anchor_of(builder, stage)
        if anchor is not None:
            tile_anchor(builder, anchor)
        else:
            factor_terms(builder, stage)
            place(builder, stage)
            schedule_loops(builder, stage)
        for block in blocks(builder.program.body):
            # Initialisers and tails.
            if block.name not in remaining and block.name not in builder.labels:
                builder.owners.setdefault(block.name, builder.owners[stage])
    if rules.threads > 1:
        _on_threads(builder)
    return Sketch(builder.schedule, builder.trace)


def _without_place(builder: Builder) -> list[str]:
    """The stages that were not looked at, in the order of the program."""
    names = [block.name for block in blocks(builder.program.body)]
    return [name for name in names if name not in builder.owners]


def _on_threads(builder: Builder) -> None:
    """Run the outer loops of stages at the root on threads, as far as these are needed."""
    wanted = _CHUNKS * builder.rules.threads
    for stage, axes in builder.outer.items():
        schedule, fused = builder.schedule, ""
        for axis in axes:
            loop = find_loop(schedule.program.body, LoopRef(stage, axis).name)
            if loop is None or loop.kind is not LoopKind.SERIAL:
                break
            if not fused:
                fused = axis if extent_of(loop) > 1 else ""
                continue
            around = find_loop(schedule.program.body, LoopRef(stage, fused).name)
            if not isinstance(around, For) or around.body is not loop:
                break
            if extent_of(around) >= wanted:
                break
            schedule = schedule.fuse(stage, fused, axis, f"{fused}_{axis}")
            fused = f"{fused}_{axis}"
        if fused:
            builder.schedule = schedule.parallel(stage, fused)

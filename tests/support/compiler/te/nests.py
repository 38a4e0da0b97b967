"""The loops of a schedule's stages as a line of text each."""

from __future__ import annotations

from tandem.compiler.ir.stmt import LoopKind
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of, loops_on_path, path_to

_KINDS = {
    LoopKind.SERIAL: "",
    LoopKind.BLOCKS: "b",
    LoopKind.PARALLEL: "p",
    LoopKind.THREADS: "t",
    LoopKind.UNROLLED: "u",
    LoopKind.VECTORIZED: "v",
}


def nest(schedule: Schedule, stage: str) -> str:
    """The loops around a stage, outermost first: the axis, its extent and a letter of its kind, as
    `task:4p x:3u l:16v`."""
    body = schedule.program.body
    (block,) = (each for each in blocks(body) if each.name == stage)
    loops = loops_on_path(path_to(body, block))
    axes = (each.var.name.rpartition(".")[2] for each in loops)
    found = zip(axes, loops, strict=True)
    return " ".join(f"{axis}:{extent_of(each)}{_KINDS[each.kind]}" for axis, each in found)


def stages_of(schedule: Schedule) -> list[str]:
    """The names of the stages, in the order of the program."""
    return [each.name for each in blocks(schedule.program.body)]

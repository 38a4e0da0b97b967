"""The loops around the stages of a schedule, as text."""

from __future__ import annotations

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.tree import LoopRef, extent_of, loops_on_path, path_to
from tandem.compiler.tune.sketches.stages import block_of


def nest(program: PrimFunc, stage: str) -> str:
    """The loops around a stage, outermost first: axis, extent, and `S`, `V` or `U` for serial ones,
    vectors, and those that are written out. Those of other stages have these in front."""
    found = []
    for loop in loops_on_path(path_to(program.body, block_of(program, stage))):
        ref = LoopRef.of(loop)
        owner = "" if ref.stage == stage else f"{ref.stage}."
        found.append(f"{owner}{ref.axis}:{extent_of(loop)}{loop.kind.name[0]}")
    return " ".join(found)


def nests(program: PrimFunc) -> dict[str, str]:
    """The loops of all stages, in their order."""
    return {block.name: nest(program, block.name) for block in blocks(program.body)}

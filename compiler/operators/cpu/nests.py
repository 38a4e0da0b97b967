"""A stage's own loops, as schedules see them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.ir.stmt import Block, For, IterKind, LoopKind
from compiler.te.schedule import Schedule
from compiler.te.tree import block_called, extent_of, loop_called, path_to

__all__ = ["Axis", "Nest", "innermost_of", "nest_of"]


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

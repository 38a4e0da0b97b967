"""Anchors whose innermost products a tensor intrinsic does: found by the intrinsic's behaviour.

An intrinsic fits where its results lie along one axis and its terms along one axis of the
reduction, and `tensorize`, which compares its behaviour with the stage's statement, accepts the
tile. Nothing here knows what an intrinsic is called or computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.stmt import Block, PrimFunc, parameters
from tandem.compiler.ir.visit import loops, reads, writes
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import (
    block_of,
    is_plain,
    loads_of,
    operand_strides,
    reduced,
    spatial,
)


@dataclass(frozen=True, slots=True)
class TensorTile:
    """A tile that an intrinsic computes.

    Attributes
    ----------
    vector, term
        The axes of its results and of its terms.
    lanes, depth
        How many there are.
    """

    intrinsic: PrimFunc
    vector: str
    term: str
    lanes: int
    depth: int

    @property
    def axes(self) -> tuple[str, str]:
        """The axes of the loops inside the tile, outermost first."""
        return f"{self.vector}_lane", f"{self.term}_deep"

    def split(self, schedule: Schedule, stage: str, vector: str) -> Schedule:
        """The stage with its loops over results, of this axis, and over terms split in tiles."""
        lane, deep = self.axes
        schedule = schedule.split(stage, vector, self.lanes, (vector, lane))
        return schedule.split(stage, self.term, self.depth, (self.term, deep))

    def packing(self, block: Block, buffer: str) -> tuple[str, ...] | None:
        """The layout in which a tile reads an operand as the intrinsic does: with terms innermost,
        and results around them if it has some for each; none if it is so already.

        Raises
        ------
        ScheduleError
            No layout of the operand is so.
        """
        indices = {load.indices for load in loads_of(block, buffer)}
        strides = operand_strides(block, self.vector)[buffer]
        if strides == {0}:
            return self._packed_terms(indices, buffer)
        if not is_plain(block, buffer):
            raise ScheduleError("tensor tile", f"{buffer} is read at more than axes")
        (only,) = indices
        names = [index.name for index in only if isinstance(index, Var)]
        if self.vector not in names or self.term not in names:
            raise ScheduleError("tensor tile", f"{buffer} has no axis of results, or of terms")
        results, terms = names.index(self.vector), names.index(self.term)
        elements = [at for at, name in enumerate(names) if name in spatial(block) and at != results]
        others = [
            f"{at}/{self.depth}" if at == terms else str(at)
            for at, name in enumerate(names)
            if name in reduced(block)
        ]
        return (
            *map(str, elements),
            f"{results}/{self.lanes}",
            *others,
            f"{results}%{self.lanes}",
            f"{terms}%{self.depth}",
        )

    def _packed_terms(self, indices: set[tuple[Expr, ...]], buffer: str) -> tuple[str, ...] | None:
        places = {
            tuple(at for at, index in enumerate(load) if index == Var(self.term))
            for load in indices
        }
        rank = len(next(iter(indices)))
        if len(places) != 1 or len(next(iter(places))) != 1:
            raise ScheduleError("tensor tile", f"{buffer} has no axis of terms alone")
        ((at,),) = places
        if at == rank - 1:
            return None
        order = (f"{each}/{self.depth}" if each == at else str(each) for each in range(rank))
        return (*order, f"{at}%{self.depth}")


def tensor_tile(intrinsic: PrimFunc, vector: str, term: str) -> TensorTile | None:
    """The tile of an intrinsic that has a loop over results around one over terms, and one store;
    None of others."""
    nest, stores = tuple(loops(intrinsic.body)), tuple(writes(intrinsic.body))
    if len(nest) != 2 or len(stores) != 1 or stores[0].indices != (nest[0].var,):
        return None
    lanes, depth = map(extent_of, nest)
    return TensorTile(intrinsic, vector, term, lanes, depth)


def tensor_tiles(builder: Builder, stage: str) -> dict[str, TensorTile]:
    """The tiles of a reduction that intrinsics compute, by a name for decisions: the intrinsic's,
    and the numbers of the axes of results and of terms."""
    block = block_of(builder.program, stage)
    types = _types(each.buffer for each in reads(block))
    extents = {axis.var.name: axis.extent for axis in block.iters}
    found = {}
    for intrinsic in builder.rules.intrinsics:
        if _types(parameters(intrinsic)) != types:
            continue
        axes = product(enumerate(spatial(block)), enumerate(reduced(block)))
        for (results, vector), (terms, term) in axes:
            tile = tensor_tile(intrinsic, vector, term)
            if tile is None or extents[vector] % tile.lanes or extents[term] % tile.depth:
                continue
            if _fits(builder.schedule, stage, tile):
                found[f"{intrinsic.name}.{results}.{terms}"] = tile
    return found


def _fits(schedule: Schedule, stage: str, tile: TensorTile) -> bool:
    """Whether the intrinsic computes a tile of a stage at the root: it is tried on a copy of the
    schedule, which nobody sees."""
    block = block_of(schedule.program, stage)
    try:
        for buffer in operand_strides(block, tile.vector):
            order = tile.packing(block, buffer)
            if order is not None:
                copy = f"{buffer}_tried"
                schedule = schedule.cache_read(buffer, (stage,), Scope.GLOBAL, copy)
                schedule = schedule.set_layout(copy, order)
        schedule = tile.split(schedule, stage, tile.vector)
        schedule = schedule.reorder(stage, *reduced(block), *spatial(block), *tile.axes)
        schedule = schedule.decompose_reduction(stage, reduced(block)[0])
        schedule.tensorize(stage, tile.axes[0], tile.intrinsic)
    except ScheduleError:
        return False
    return True


def _types(buffers: Iterable[Buffer]) -> list[str]:
    """The types of buffers, each buffer once."""
    return sorted(str(each.dtype) for each in {*buffers})

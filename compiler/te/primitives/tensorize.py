"""tensorize: a tile becomes one tensor instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.expr import Var
from compiler.ir.linear import Linear, linear
from compiler.ir.operands import parameters
from compiler.ir.stmt import Block, BlockIter, For, Function, Invoke, LoopKind, Region, Store
from compiler.ir.visit import blocks, loops, variables
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.matching import Mismatch, match_store, parted
from compiler.te.tree import extent_of, loops_among, path_to, replace_loop

__all__ = ["Tensorize"]


@dataclass(frozen=True, slots=True)
class Tensorize(Primitive):
    """Replace a loop and all inside it by a tensor intrinsic that does the same.

        for C.i in 16:                       block C(i < 4 = C.i_o):
          for C.k in 4:               ->       invoke dot(C[i * 16 :+ 16], A[0 :+ 4], ...)
            block C(i = C.i_o * 16 + C.i, k = C.k): ...

    The loops and the statement must be those of the intrinsic's behaviour, up to the order of
    factors and summands; refused on any difference. Start sums elsewhere first
    (decompose_reduction). (TVM: `tensorize`; TensorIR, section 4.1.)
    """

    stage: str
    axis: str
    intrinsic: Function

    name: ClassVar[str] = "tensorize"

    def apply(self, program: Function) -> Function:
        """See the class."""
        loop = self.loop(program.body, self.stage, self.axis)
        block = self.block_of(program.body, self.stage)
        others = [each.name for each in blocks(loop) if each.name != self.stage]
        path = path_to(loop, block)
        if not path or others:
            self.refuse(f"inside {loop.var.name} lies {', '.join(others) or 'another stage'}")
        tile = loops_among(path)
        if len(tile) != len(path) - 1:
            self.refuse(f"between {loop.var.name} and {self.stage} lies more than loops")
        if block.init is not None:
            self.refuse(f"{self.stage} starts its sums in the tile: decompose_reduction first")
        store = block.body
        if not isinstance(store, Store):
            self.refuse(f"{self.stage} is tensorized already")
        self._check_loops(tile)
        names = {each.var.name for each in tile}
        for test in block.guard:
            if variables(test) & names:
                self.refuse(f"the tile is not always whole: {self.stage} is guarded inside it")
        iters, inside = self._iters(block, tile)
        try:
            regions = match_store(store, inside, self.intrinsic, tile)
        except Mismatch as error:
            self.refuse(f"{self.intrinsic.name} does something else: {error}")
        operands = self._operands(regions)
        new = Block(self.stage, iters, block.guard, None, Invoke(self.intrinsic, operands))
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: new))

    def _check_loops(self, tile: tuple[For, ...]) -> None:
        wanted = [extent_of(each) for each in loops(self.intrinsic.body)]
        found = [extent_of(each) for each in tile]
        if found != wanted:
            self.refuse(
                f"loops {', '.join(each.var.name for each in tile)} have {found} turns; those of "
                f"{self.intrinsic.name} have {wanted}"
            )
        for each in tile:
            if each.kind is not LoopKind.SERIAL:
                self.refuse(f"loop {each.var.name} is {each.kind.value}")

    def _iters(
        self, block: Block, tile: tuple[For, ...]
    ) -> tuple[tuple[BlockIter, ...], dict[str, Linear]]:
        """The axes in steps of the tile; and the old axes, in terms of steps and tile loops."""
        extents = {each.var.name: extent_of(each) for each in tile}
        iters, values = [], {}
        for each in block.iters:
            inner, outer = parted(linear(each.value), set(extents))
            step = 1
            for atom, factor in inner.terms:
                if not isinstance(atom, Var) or factor < 0:
                    self.refuse(f"axis {each.var.name} of {block.name} is no sum of tile loops")
                step += factor * (extents[atom.name] - 1)
            if outer.constant % step or any(factor % step for _, factor in outer.terms):
                self.refuse(f"tiles of axis {each.var.name} do not start at multiples of {step}")
            if each.extent % step:
                self.refuse(f"axis {each.var.name} has {each.extent} points, no multiple of {step}")
            start = Linear(
                tuple((atom, factor // step) for atom, factor in outer.terms),
                outer.constant // step,
            )
            iters.append(replace(each, extent=each.extent // step, value=start.expr()))
            values[each.var.name] = linear(each.var * step + inner.expr())
        return tuple(iters), values

    def _operands(self, regions: dict[str, Region]) -> tuple[Region, ...]:
        names = [each.name for each in parameters(self.intrinsic)]
        missing = [name for name in names if name not in regions]
        if missing:
            self.refuse(f"{self.intrinsic.name} never uses {', '.join(missing)}")
        return tuple(regions[name] for name in names)

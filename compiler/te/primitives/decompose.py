"""decompose_reduction: the start of sums becomes a stage of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.stmt import Function, IterKind
from compiler.ir.visit import sequence
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.nests import element_nest
from compiler.te.roles import feeds
from compiler.te.tree import (
    loops_among,
    map_blocks,
    path_to,
    replace_loop,
)

__all__ = ["DecomposeReduction"]


@dataclass(frozen=True, slots=True)
class DecomposeReduction(Primitive):
    """Start a stage's sums in front of a loop, in loops of their own.

        for C.i in 8:                      for C.i in 8:
          for C.k in 8:                      block C_init(i = C.i):
            block C(i = C.i, k = C.k):  ->     C[i] = 0
              init:                          for C.k in 8:
                C[i] = 0                       block C(i = C.i, k = C.k):
              C[i] = C[i] + A[i, k]              C[i] = C[i] + A[i, k]

    The new stage `C_init` has loops like those of `C` inside the loop that name elements. Refused
    where a loop further out joins terms: sums would start again in each of its turns. (TensorIR:
    `decompose_reduction`; the GEMM core's reset.)
    """

    stage: str
    axis: str

    name: ClassVar[str] = "decompose_reduction"

    def apply(self, program: Function) -> Function:
        """See the class."""
        block = self.block_of(program.body, self.stage)
        if block.init is None:
            self.refuse(f"{self.stage} starts no sums, or does so elsewhere already")
        loop = self.loop(program.body, self.stage, self.axis)
        path = path_to(loop, block)
        if not path:
            self.refuse(f"{self.stage} is not inside {loop.var.name}")
        around = loops_among(path_to(program.body, loop))[:-1]
        for each in around:
            if IterKind.REDUCE in feeds(each.var.name, block):
                self.refuse(
                    f"{each.var.name}, around {loop.var.name}, joins terms of {self.stage}: sums "
                    f"would start again in each of its turns"
                )
        stage = self.new_stage(program, f"{self.stage}_init")
        init = element_nest(stage, block, loops_among(path), around, block.init)

        body = replace_loop(program.body, loop.var.name, lambda each: sequence(init, each))
        body = map_blocks(
            body, lambda each: replace(each, init=None) if each.name == self.stage else each
        )
        return replace(program, body=body)

"""decompose_reduction: the initialiser of a reduction becomes a stage of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.ops import index
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import IterKind, PrimFunc
from tandem.compiler.ir.visit import sequence, substitute
from tandem.compiler.te.dependences import axis_kinds
from tandem.compiler.te.primitives.base import Primitive, element_nest
from tandem.compiler.te.tree import loops_on_path, path_to, replace_loop, replace_stmt


@dataclass(frozen=True, slots=True)
class DecomposeReduction(Primitive):
    """Initialise a reduction before a loop, in a loop nest of its own.

        for C.i in 8:                      for C.i in 8:
          for C.k in 8:                      block C_init(i = C.i):
            block C(i = C.i, k = C.k):  ->     C[i] = 0
              init:                          for C.k in 8:
                C[i] = 0                       block C(i = C.i, k = C.k):
              C[i] = C[i] + A[i, k]              C[i] = C[i] + A[i, k]

    The new stage `C_init` gets copies of the spatial loops of `C` inside the loop. Refused where a
    loop further out reduces: each of its iterations would initialise the reduction again. Refused
    as well where the loops begin after the reduction's first term, as those of the last part of a
    `partition` do: another stage has initialised it.
    (TensorIR: `decompose_reduction`; the GEMM core's reset.)
    """

    stage: str
    axis: str

    name: ClassVar[str] = "decompose_reduction"

    def apply(self, program: PrimFunc) -> PrimFunc:
        block = self.block_of(program.body, self.stage)
        if block.init is None:
            self.refuse(f"{self.stage} has no reduction initialiser, or has it elsewhere already")
        loop = self.loop(program.body, self.stage, self.axis)
        path = path_to(loop, block)
        if not path:
            self.refuse(f"{self.stage} is not inside {loop.var.name}")
        around = loops_on_path(path_to(program.body, loop))[:-1]
        for outer in around:
            if IterKind.REDUCE in axis_kinds(outer.var.name, block):
                self.refuse(
                    f"{outer.var.name}, around {loop.var.name}, reduces {self.stage}: each of its "
                    f"iterations would initialise the reduction again"
                )
        inside = loops_on_path(path)
        first = {each.var.name: index(0) for each in inside}
        for term in block.axes(IterKind.REDUCE):
            begins = simplify(substitute(term.value, first))
            if begins != index(0):
                self.refuse(
                    f"{self.stage} begins with {term.var.name} = {text(begins)}, not 0: its "
                    f"reduction is initialised elsewhere"
                )
        stage = self.new_stage(program, f"{self.stage}_init")
        init = element_nest(stage, block, inside, around, block.init)
        decomposed = replace_stmt(loop, block, replace(block, init=None))
        both = sequence(init, decomposed)
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: both))

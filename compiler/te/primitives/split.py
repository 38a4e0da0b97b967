"""split: one loop becomes two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc
from tandem.compiler.ir.visit import substitute_in
from tandem.compiler.te.primitives.base import Primitive, with_guard
from tandem.compiler.te.tree import extent_of, map_blocks, replace_loop


@dataclass(frozen=True, slots=True)
class Split(Primitive):
    """Split a loop into an outer one and an inner one of `factor` iterations.

        for C.i in 50:                     for C.i_o in 4:
          block C(i = C.i)         ->        for C.i_i in 16:
                                               block C(i = C.i_o * 16 + C.i_i):
                                                 where C.i_o * 16 + C.i_i < 50

    The guard is there only if the factor does not divide. (Halide, TVM: `split`; Exo:
    `divide_loop`.) Iterations keep their order: always legal.

    Parameters
    ----------
    axes
        Names of the outer and the inner loop; by default `i_o` and `i_i`.
    """

    stage: str
    axis: str
    factor: int
    axes: tuple[str, ...] = ()

    name: ClassVar[str] = "split"

    def apply(self, program: PrimFunc) -> PrimFunc:
        factor = self.require_positive(self.factor, "factor")
        loop = self.require_serial(self.loop(program.body, self.stage, self.axis))
        axes = self.axes or (f"{self.axis}_o", f"{self.axis}_i")
        if len(axes) != 2 or axes[0] == axes[1]:
            self.refuse(f"two different names are needed, not {axes}")
        outer, inner = (
            Var(self.new_loop(program.body, self.stage, axis, (self.axis,))) for axis in axes
        )
        extent = extent_of(loop)
        value = outer * factor + inner
        body = substitute_in(loop.body, {loop.var.name: value})
        if extent % factor:
            body = map_blocks(body, lambda block: with_guard(block, value < extent))
        nested = For(inner, index(factor), LoopKind.SERIAL, body)
        nested = For(outer, index(-(-extent // factor)), LoopKind.SERIAL, nested)
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: nested))

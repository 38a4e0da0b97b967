"""fuse: two loops become one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc
from tandem.compiler.ir.visit import blocks, substitute_in
from tandem.compiler.te.dependences import axis_kinds
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import extent_of, replace_loop


@dataclass(frozen=True, slots=True)
class Fuse(Primitive):
    """Fuse a loop with the one directly inside it.

        for C.i in 4:                      for C.i_j in 32:
          for C.j in 8:            ->        block C(i = C.i_j // 8, j = C.i_j % 8)
            block C(i = C.i, j = C.j)

    (Halide, TVM: `fuse`; Exo: `mult_loops`.) Iterations keep their order. Refused if one of the two
    is spatial and the other reduces: their order could never be changed again.

    Parameters
    ----------
    fused
        Name of the new loop; by default `i_j`.
    """

    stage: str
    outer: str
    inner: str
    fused: str = ""

    name: ClassVar[str] = "fuse"

    def apply(self, program: PrimFunc) -> PrimFunc:
        outer = self.require_serial(self.loop(program.body, self.stage, self.outer))
        inner = self.require_serial(self.loop(program.body, self.stage, self.inner))
        if outer.body is not inner:
            self.refuse(
                f"{inner.var.name} is not the only statement inside {outer.var.name}: reorder first"
            )
        for block in blocks(inner):
            kinds = axis_kinds(outer.var.name, block) | axis_kinds(inner.var.name, block)
            if len(kinds) > 1:
                self.refuse(
                    f"of {outer.var.name} and {inner.var.name}, one is a spatial loop of "
                    f"{block.name} and the other reduces"
                )
        axis = self.fused or f"{self.outer}_{self.inner}"
        fused = Var(self.new_loop(program.body, self.stage, axis, (self.outer, self.inner)))
        extent = extent_of(inner)
        divisor = max(extent, 1)
        values = {outer.var.name: fused // divisor, inner.var.name: fused % divisor}
        body = substitute_in(inner.body, values)
        loop = For(fused, index(extent_of(outer) * extent), LoopKind.SERIAL, body)
        return replace(program, body=replace_loop(program.body, outer.var.name, lambda _: loop))

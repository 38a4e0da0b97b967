"""rfactor: a reduction is computed in partial results, which a second stage reduces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Binary, Expr, Load, Var, binary
from tandem.compiler.ir.stmt import Alloc, Block, IterKind, PrimFunc, Seq, Store
from tandem.compiler.ir.visit import substitute
from tandem.compiler.te.build import stage_nest
from tandem.compiler.te.dependences import reassociable
from tandem.compiler.te.primitives.base import Primitive, with_guard
from tandem.compiler.te.tensor import Combiner
from tandem.compiler.te.tree import LoopRef, map_blocks, replace_stmt


@dataclass(frozen=True, slots=True)
class RFactor(Primitive):
    """Compute a reduction in partial results, one for each remainder of an axis by a factor.

                                           alloc C_rf: int32[8, 4]
                                           for C_rf.i in 8:
                                             for C_rf.k_r in 4:
        for C.i in 8:                          for C_rf.k in 16:
          for C.k in 64:                         block C_rf(...):
            block C(i = C.i, k = C.k):             init:
              init:                  ->              C_rf[i, k_r] = 0
                C[i] = 0                           C_rf[i, k_r] += A[i, k * 4 + k_r]
              C[i] += A[i, k]              for C.i in 8:
                                             for C.k_r in 4:
                                               block C(...):
                                                 init:
                                                   C[i] = 0
                                                 C[i] += C_rf[i, k_r]

    The terms of a partial result keep their order; those of the result do not. Refused for floats,
    whose sums depend on it, unless `reassociate` permits that; and for a stage that was scheduled
    before. (Halide, TVM: `rfactor`; Suriana et al., CGO 2017.)

    Parameters
    ----------
    partial
        Name of the partial results and of their stage; `stage_rf` by default.
    """

    stage: str
    axis: str
    factor: int
    partial: str = ""
    reassociate: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "rfactor"

    def apply(self, program: PrimFunc) -> PrimFunc:
        factor = self.require_positive(self.factor, "factor")
        block = self.block_of(program.body, self.stage)
        store, value, init = self._reduction(block)
        extents = {axis.var.name: axis.extent for axis in block.axes(IterKind.REDUCE)}
        if self.axis not in extents:
            known = ", ".join(extents)
            self.refuse(f"{self.stage} does not reduce along {self.axis}, but along {known}")
        extent = extents[self.axis]
        if factor > extent:
            self.refuse(f"{self.axis} has {extent} terms: factor must be no more")
        if not reassociable(block) and not self.reassociate:
            self.refuse(
                f"{self.stage} would add floats in another order, which changes roundings: "
                f"reassociate permits it"
            )
        nest = self.own_nest(program.body, block)
        name = self.new_stage(program, self.partial or f"{self.stage}_rf")
        rest = f"{self.axis}_r"
        if any(axis.var.name == rest for axis in block.iters):
            self.refuse(f"{self.stage} has an axis {rest} already")
        target = store.buffer
        partial = Buffer(name, (*target.shape, factor), target.dtype, Scope.GLOBAL)
        at = (*store.indices, Var(rest))
        part = Var(self.axis) * factor + Var(rest)
        terms = [
            (axis, -(-count // factor) if axis == self.axis else count)
            for axis, count in extents.items()
        ]
        op = value.op
        term = substitute(value.right, {self.axis: part})
        first = stage_nest(
            Store(partial, at, binary(op, Load(partial, at), term)),
            terms,
            Store(partial, at, Combiner(op).identity(target.dtype)),
        )
        if extent % factor:
            loops = LoopRef(name, self.axis).var * factor + LoopRef(name, rest).var
            first = map_blocks(first, lambda inner: with_guard(inner, loops < extent))
        second = stage_nest(
            Store(target, store.indices, binary(op, value.left, Load(partial, at))),
            [(rest, factor)],
            init,
        )
        both = Alloc(partial, Seq((first, second)))
        return replace(program, body=replace_stmt(program.body, nest, both))

    def _reduction(self, block: Block) -> tuple[Store, Binary, Store]:
        """The store of a reduction that was not scheduled yet, its update and its initialiser."""
        store, init = block.body, block.init
        loops = all(axis.value == LoopRef(self.stage, axis.var.name).var for axis in block.iters)
        elements: tuple[Expr, ...] = tuple(axis.var for axis in block.axes(IterKind.SPATIAL))
        match store, init:
            case Store(value=Binary(left=Load() as own) as value), Store() if (
                own == Load(store.buffer, store.indices) and store.indices == elements
            ):
                if loops and not block.guard:
                    return store, value, init
                self.refuse(f"{self.stage} was scheduled before: rfactor comes first")
            case _:
                self.refuse(f"{self.stage} is no reduction with an initialiser of its own")

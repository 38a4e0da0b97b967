"""compute_inline: a stage disappears into its readers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.expr import Expr, Load
from compiler.ir.stmt import Function, Invoke, Stmt, Store
from compiler.ir.visit import map_expressions, rewrite, rewrite_expr, statements, substitute
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.nests import own_nest
from compiler.te.tree import NOTHING, read_by, replace_stmt, without_alloc

__all__ = ["ComputeInline"]


@dataclass(frozen=True, slots=True)
class ComputeInline(Primitive):
    """Compute a stage's element wherever it is read, instead of keeping it.

        alloc P: float32[8]
        for P.i in 8:
          block P(i = P.i):                 for C.i in 8:
            P[i] = A[i] * 2.0       ->        block C(i = C.i):
        for C.i in 8:                           C[i] = A[i] * 2.0 + 1.0
          block C(i = C.i):
            C[i] = P[i] + 1.0

    Refused for outputs and for stages that join terms. (Halide's default; TVM: `compute_inline`.)
    """

    stage: str

    name: ClassVar[str] = "compute_inline"

    def apply(self, program: Function) -> Function:
        """See the class."""
        block = self.block_of(program.body, self.stage)
        store = block.body
        if not isinstance(store, Store):
            self.refuse(f"{self.stage} is tensorized")
        if block.init is not None or store.buffer.name in read_by(block):
            self.refuse(f"{self.stage} joins terms: each reader would join them again")
        name = store.buffer.name
        self.intermediate(program.body, name)
        self.only_writer(program.body, block, name)
        axes = tuple(each.var for each in block.iters)
        if store.indices != axes:
            self.refuse(f"{self.stage} does not write {name} at its axes: inline before set_layout")
        nest = own_nest(self, program.body, block)
        body = replace_stmt(program.body, nest, NOTHING)
        if body == NOTHING:
            self.refuse(f"{self.stage} is the whole program")
        for each in statements(body):
            if isinstance(each, Invoke) and name in read_by(each):
                self.refuse(f"{each.intrinsic.name} reads {name} from memory")

        def in_expr(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.buffer.name == name:
                values = dict(zip((axis.name for axis in axes), expr.indices, strict=True))
                return substitute(store.value, values)
            return expr

        def change(each: Stmt) -> Stmt:
            return map_expressions(each, lambda expr: rewrite_expr(expr, in_expr))

        return replace(program, body=without_alloc(rewrite(body, change), name))

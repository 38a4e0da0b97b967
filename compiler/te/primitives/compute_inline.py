"""compute_inline: a stage is substituted into its readers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.ir.stmt import Invoke, PrimFunc, Stmt, Store
from tandem.compiler.ir.visit import map_expressions, rewrite, rewrite_expr, statements, substitute
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import NO_OP, read_by, replace_stmt, without_alloc


@dataclass(frozen=True, slots=True)
class ComputeInline(Primitive):
    """Compute a stage's elements wherever they are read, instead of storing them.

        alloc P: float32[8]
        for P.i in 8:
          block P(i = P.i):                 for C.i in 8:
            P[i] = A[i] * 2.0       ->        block C(i = C.i):
        for C.i in 8:                           C[i] = A[i] * 2.0 + 1.0
          block C(i = C.i):
            C[i] = P[i] + 1.0

    Refused for outputs and reductions. (Halide's default; TVM: `compute_inline`.)
    """

    stage: str

    name: ClassVar[str] = "compute_inline"

    def apply(self, program: PrimFunc) -> PrimFunc:
        block = self.block_of(program.body, self.stage)
        store = block.body
        if not isinstance(store, Store):
            self.refuse(f"{self.stage} is tensorized")
        if block.init is not None or store.buffer.name in read_by(block):
            self.refuse(f"{self.stage} is a reduction: each reader would repeat it")
        name = store.buffer.name
        self.require_intermediate(program.body, name)
        self.require_only_writer(program.body, block, name)
        axes = tuple(each.var for each in block.iters)
        if store.indices != axes:
            self.refuse(f"{self.stage} does not write {name} at its axes: inline before set_layout")
        nest = self.own_nest(program.body, block)
        body = replace_stmt(program.body, nest, NO_OP)
        if body == NO_OP:
            self.refuse(f"{self.stage} is the whole program")
        for stmt in statements(body):
            if isinstance(stmt, Invoke) and name in read_by(stmt):
                self.refuse(f"{stmt.intrinsic.name} reads {name} from memory")

        def in_expr(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.buffer.name == name:
                values = dict(zip((axis.name for axis in axes), expr.indices, strict=True))
                return substitute(store.value, values)
            return expr

        def in_stmt(stmt: Stmt) -> Stmt:
            return map_expressions(stmt, lambda expr: rewrite_expr(expr, in_expr))

        return replace(program, body=without_alloc(rewrite(body, in_stmt), name))

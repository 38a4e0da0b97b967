"""skip_terms: skips iterations of a reduction whose terms do not change the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Select,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)
from tandem.compiler.ir.ops import all_of
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Block, If, PrimFunc, Store
from tandem.compiler.ir.visit import blocks, substitute
from tandem.compiler.te.primitives.base import Primitive, with_guard
from tandem.compiler.te.tensor import Combiner
from tandem.compiler.te.tree import replace_stmt, written_by


@dataclass(frozen=True, slots=True)
class SkipTerms(Primitive):
    """Skip the iterations of a reduction whose terms would not change the result.

        for C_init.i in 8:                      for C_init.i in 8:
          block C_init(i = C_init.i):             block C_init(i = C_init.i):
            C[i] = -128                             C[i] = -128
        for C.k in 3:                           for C.k in 3:
          for C.i in 8:                   ->      for C.i in 8:
            block C(i = C.i, k = C.k):              block C(i = C.i, k = C.k):
              C[i] = max(C[i], select(                where 1 <= C.i + C.k
                1 <= i + k, A[i + k - 1], -128))      C[i] = max(C[i], A[i + k - 1])

    The other side of the `select` has to be a number that changes no result: the identity element
    of the reduction; or, for a maximum or minimum, a number that is not beyond the initial value.
    Where the stage initialises its reduction itself, it does so with a term that is skipped, too.
    """

    stage: str

    name: ClassVar[str] = "skip_terms"

    def apply(self, program: PrimFunc) -> PrimFunc:
        block = self.block_of(program.body, self.stage)
        tests: tuple[Expr, ...] = ()
        store = block.body
        if isinstance(store, If):
            tests, store = (store.condition,), store.body
        match store:
            case Store(buffer, indices, Binary(op, left, Select() as term)) if left == Load(
                buffer, indices
            ):
                self._check(program, block, store, op, term.otherwise)
            case _:
                self.refuse(f"{self.stage} does not reduce a select")
        skipped = Store(buffer, indices, Binary(op, left, term.then))
        if block.init is None:
            values = {axis.var.name: axis.value for axis in block.iters}
            new = with_guard(replace(block, body=skipped), substitute(term.condition, values))
        else:
            new = replace(block, body=If(all_of(*tests, term.condition), skipped))
        return replace(program, body=replace_stmt(program.body, block, new))

    def _check(
        self, program: PrimFunc, block: Block, store: Store, op: BinaryOp, other: Expr
    ) -> None:
        """Refuse unless reducing `other` changes no value."""
        combiners = {combiner.value: combiner for combiner in Combiner}
        if isinstance(other, Const) and op in combiners:
            if other == combiners[op].identity(store.buffer.dtype):
                return
            initial = self._initial(program, block, store)
            match op:
                case BinaryOp.MAX if initial is not None and other.value <= initial.value:
                    return
                case BinaryOp.MIN if initial is not None and other.value >= initial.value:
                    return
                case _:
                    pass
        self.refuse(
            f"{self.stage} reduces {text(other)} by {op.value} where the condition does not hold, "
            f"which may change a result"
        )

    def _initial(self, program: PrimFunc, block: Block, store: Store) -> Const | None:
        """The initial value of the elements, or None if they have no common constant."""
        name = store.buffer.name
        others = [each for each in blocks(program.body) if each is not block]
        found = [other.body for other in others if name in written_by(other)]
        match found if block.init is None else [block.init]:
            case [Store(value=Const() as value)]:
                return value
            case _:
                return None

"""skip_terms: terms that change nothing are not joined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.expr import Binary, BinaryOp, Const, Expr, Load, Select
from compiler.ir.printer import text
from compiler.ir.stmt import Block, Function, Store
from compiler.ir.visit import blocks, substitute
from compiler.te.primitives.base import Primitive, guarded
from compiler.te.tensor import Combiner
from compiler.te.tree import map_blocks, written_by

__all__ = ["SkipTerms"]


@dataclass(frozen=True, slots=True)
class SkipTerms(Primitive):
    """Leave a reduction's turn out where its term would change nothing.

        for C_init.i in 8:                      for C_init.i in 8:
          block C_init(i = C_init.i):             block C_init(i = C_init.i):
            C[i] = -128                             C[i] = -128
        for C.k in 3:                           for C.k in 3:
          for C.i in 8:                   ->      for C.i in 8:
            block C(i = C.i, k = C.k):              block C(i = C.i, k = C.k):
              C[i] = max(C[i], select(                where 1 <= C.i + C.k
                1 <= i + k, A[i + k - 1], -128))      C[i] = max(C[i], A[i + k - 1])

    The other side of the `select` has to be a number that leaves every value as it is: the one that
    a reduction of nothing gives; or, of maxima and minima, one that is not beyond their start.
    Start them elsewhere first (decompose_reduction).
    """

    stage: str

    name: ClassVar[str] = "skip_terms"

    def apply(self, program: Function) -> Function:
        """See the class."""
        block = self.block_of(program.body, self.stage)
        if block.init is not None:
            self.refuse(f"{self.stage} starts where it joins its terms: decompose_reduction first")
        store = block.body
        match store:
            case Store(buffer, indices, Binary(op, left, Select() as term)) if left == Load(
                buffer, indices
            ):
                self._check(program, block, store, op, term.otherwise)
            case _:
                self.refuse(f"{self.stage} does not join terms that are a select")
        values = {each.var.name: each.value for each in block.iters}
        skipped = replace(block, body=Store(buffer, indices, Binary(op, left, term.then)))
        new = guarded(skipped, substitute(term.condition, values))
        body = map_blocks(program.body, lambda each: new if each.name == self.stage else each)
        return replace(program, body=body)

    def _check(
        self, program: Function, block: Block, store: Store, op: BinaryOp, other: Expr
    ) -> None:
        """Refuse unless `other` never changes what it is joined to."""
        known = {each.value: each for each in Combiner}
        if isinstance(other, Const) and op in known:
            if other == known[op].identity(store.buffer.dtype):
                return
            start = self._start(program, block, store)
            match op:
                case BinaryOp.MAX if start is not None and other.value <= start.value:
                    return
                case BinaryOp.MIN if start is not None and other.value >= start.value:
                    return
                case _:
                    pass
        self.refuse(
            f"{self.stage} joins {text(other)} by {op.value} where the condition does not hold, "
            f"which may change a result"
        )

    def _start(self, program: Function, block: Block, store: Store) -> Const | None:
        """The number that all values begin with, if it is one number."""
        name = store.buffer.name
        bodies = [
            each.body
            for each in blocks(program.body)
            if each is not block and name in written_by(each)
        ]
        match bodies:
            case [Store(value=Const() as value)]:
                return value
            case _:
                return None

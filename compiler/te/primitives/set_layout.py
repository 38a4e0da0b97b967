"""set_layout: a buffer's elements lie in another order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.expr import Expr
from compiler.ir.stmt import Function, Invoke
from compiler.ir.visit import map_accesses_in, statements
from compiler.te.primitives.base import Primitive
from compiler.te.tree import allocated, map_buffers

__all__ = ["SetLayout"]

_PART = re.compile(r"(\d+)(?:([/%])(\d+))?\Z")


@dataclass(frozen=True, slots=True)
class SetLayout(Primitive):
    """Keep an intermediate buffer in another order, axes split in blocks.

        alloc P: int8[64, 9]                alloc P: int8[4, 9, 16]
        ... P[i, j] ...             ->      ... P[i // 16, j, i % 16] ...

    Here the order is `("0/16", "1", "0%16")`: quotients of axis 0, axis 1, remainders of axis 0.
    (TVM: `transform_layout`.)

    Parameters
    ----------
    order
        For each new axis an old one's number, or its quotient (`n/f`) or remainder (`n%f`) by a
        factor. Each old axis comes once, or as both quotient and remainder by one factor.
    """

    buffer: str
    order: tuple[str, ...]

    name: ClassVar[str] = "set_layout"

    def apply(self, program: Function) -> Function:
        """See the class."""
        self.intermediate(program.body, self.buffer)
        old = allocated(program.body)[self.buffer]
        parts = self._parts(len(old.shape))
        new = replace(
            old,
            shape=tuple(
                old.shape[axis]
                if not sign
                else -(-old.shape[axis] // factor)
                if sign == "/"
                else factor
                for axis, sign, factor in parts
            ),
        )
        for each in statements(program.body):
            if isinstance(each, Invoke) and any(
                one.buffer.name == self.buffer for one in each.operands
            ):
                self.refuse(f"{each.intrinsic.name} uses {self.buffer}: set_layout comes before")

        def moved(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return tuple(
                indices[axis]
                if not sign
                else indices[axis] // factor
                if sign == "/"
                else indices[axis] % factor
                for axis, sign, factor in parts
            )

        body = map_accesses_in(
            program.body, {self.buffer}, lambda _, indices: (new, moved(indices))
        )
        return replace(program, body=map_buffers(body, {self.buffer: new}))

    def _parts(self, rank: int) -> list[tuple[int, str, int]]:
        parts = []
        for text in self.order:
            found = _PART.match(text)
            if found is None:
                self.refuse(f"{text!r} is neither an axis nor its quotient (0/16) or rest (0%16)")
            parts.append((int(found[1]), found[2] or "", int(found[3] or 1)))
        for axis in range(rank):
            mine = sorted((sign, factor) for number, sign, factor in parts if number == axis)
            signs, factors = [each[0] for each in mine], {each[1] for each in mine}
            if (signs != [""] and signs != ["%", "/"]) or len(factors) != 1 or 0 in factors:
                self.refuse(
                    f"axis {axis} of {self.buffer} must come once, or as quotient and rest by one "
                    f"factor"
                )
        if any(axis >= rank for axis, _, _ in parts):
            self.refuse(f"{self.buffer} has {rank} axes")
        return parts

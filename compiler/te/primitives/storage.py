"""set_scope, set_layout, multi_buffer: the memory, the layout and the slots of an intermediate
buffer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import Invoke, PrimFunc
from tandem.compiler.ir.visit import map_accesses_in, statements
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import map_buffers

_PART = re.compile(r"(\d+)(?:([/%])(\d+))?\Z")


@dataclass(frozen=True, slots=True)
class SetScope(Primitive):
    """Place an intermediate buffer in another memory.

        alloc P: int8[64]           ->        alloc P: int8[64] @local

    Always legal for a buffer that the program allocates. (TVM: `set_scope`.)
    """

    buffer: str
    scope: Scope

    name: ClassVar[str] = "set_scope"

    def apply(self, program: PrimFunc) -> PrimFunc:
        old = self.require_intermediate(program.body, self.buffer)
        buffer = replace(old, scope=self.scope)
        return replace(program, body=map_buffers(program.body, {self.buffer: buffer}))


@dataclass(frozen=True, slots=True)
class SetLayout(Primitive):
    """Store an intermediate buffer with its axes reordered, or split into blocks.

        alloc P: int8[64, 9]                alloc P: int8[4, 9, 16]
        ... P[i, j] ...             ->      ... P[i // 16, j, i % 16] ...

    Here `order` is `("0/16", "1", "0%16")`: the quotient of axis 0, axis 1, the remainder of axis
    0. (TVM: `transform_layout`.)

    Parameters
    ----------
    order
        For each new axis the number of an old axis, or its quotient (`n/f`) or remainder (`n%f`) by
        a factor. Each old axis comes once, or as both quotient and remainder by one factor.
    """

    buffer: str
    order: tuple[str, ...]

    name: ClassVar[str] = "set_layout"

    def apply(self, program: PrimFunc) -> PrimFunc:
        old = self.require_intermediate(program.body, self.buffer)
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
        for stmt in statements(program.body):
            if isinstance(stmt, Invoke) and self.buffer in facts(stmt).buffers:
                self.refuse(f"{stmt.intrinsic.name} uses {self.buffer}: set_layout comes before")

        def moved(_: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
            return new, tuple(
                indices[axis]
                if not sign
                else indices[axis] // factor
                if sign == "/"
                else indices[axis] % factor
                for axis, sign, factor in parts
            )

        body = map_accesses_in(program.body, {self.buffer}, moved)
        return replace(program, body=map_buffers(body, {self.buffer: new}))

    def _parts(self, rank: int) -> list[tuple[int, str, int]]:
        parts = []
        for text in self.order:
            found = _PART.match(text)
            if found is None:
                self.refuse(
                    f"{text!r} is neither an axis nor its quotient (0/16) or remainder (0%16)"
                )
            parts.append((int(found[1]), found[2] or "", int(found[3] or 1)))
        for axis in range(rank):
            uses = sorted((sign, factor) for number, sign, factor in parts if number == axis)
            signs, factors = [sign for sign, _ in uses], {factor for _, factor in uses}
            if (signs != [""] and signs != ["%", "/"]) or len(factors) != 1 or 0 in factors:
                self.refuse(
                    f"axis {axis} of {self.buffer} must come once, or as quotient and remainder by "
                    f"one factor"
                )
        if any(axis >= rank for axis, _, _ in parts):
            self.refuse(f"{self.buffer} has {rank} axes")
        return parts


@dataclass(frozen=True, slots=True)
class MultiBuffer(Primitive):
    """Give an intermediate buffer several slots, which its lifetimes take in rotation.

        alloc P: int8[64] @ inp           ->        alloc P: int8[64] @ inp in 2 slots

    With two slots, the buffer of one iteration can be loaded while that of the last one is read.
    Always legal. (TVM: `double_buffer`.)
    """

    buffer: str
    slots: int

    name: ClassVar[str] = "multi_buffer"

    def apply(self, program: PrimFunc) -> PrimFunc:
        old = self.require_intermediate(program.body, self.buffer)
        buffer = replace(old, slots=self.require_positive(self.slots, "slots"))
        return replace(program, body=map_buffers(program.body, {self.buffer: buffer}))

"""set_scope: a buffer moves to another memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function
from compiler.te.primitives.base import Primitive
from compiler.te.tree import allocated, map_buffers

__all__ = ["SetScope"]


@dataclass(frozen=True, slots=True)
class SetScope(Primitive):
    """Keep an intermediate buffer in another memory.

        alloc P: int8[64]           ->        alloc P: int8[64] @local

    Always legal for what the program allocates itself. (TVM: `set_scope`.)
    """

    buffer: str
    scope: Scope

    name: ClassVar[str] = "set_scope"

    def apply(self, program: Function) -> Function:
        """See the class."""
        self.intermediate(program.body, self.buffer)
        buffer = replace(allocated(program.body)[self.buffer], scope=self.scope)
        return replace(program, body=map_buffers(program.body, {self.buffer: buffer}))

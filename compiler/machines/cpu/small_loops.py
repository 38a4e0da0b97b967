"""Parallel loops that are too small for threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.expr import Binary, Cast, Const, Reinterpret, Select, Unary
from tandem.compiler.ir.stmt import (
    For,
    Invoke,
    LoopKind,
    PrimFunc,
    Stmt,
    Store,
)
from tandem.compiler.ir.visit import children, map_children, subexpressions
from tandem.compiler.machines.cpu.codegen.vector_strips import registers_of

_LEAST = 3 << 14
"""The least instructions that are worth threads. They take some six microseconds and more, since
several are one where products are added up. A launch that a helper joins takes some three: the loop
is half as long then, and no longer before it has six."""
_OF_WRITTEN_BYTE = 5
_NEAR = 1 << 15
"""What more a byte of the outputs asks for, where these take so few bytes that one core would have
them in its nearest cache: of two cores, either passes what it wrote to the other. That takes some
0.04 us for 64 bytes where cores share no cache: a layer of 32,000 bytes and 10 us takes longer
on two of them, one of 16,000 bytes and 13 us is as quick."""
_OF_INTRINSIC = 3
"""The instructions of a tensor intrinsic: a load, what brings it into place, a product."""


@dataclass(frozen=True, slots=True)
class SerialSmallLoops:
    """Runs the iterations of small parallel loops one after the other.

    Attributes
    ----------
    register_bits
        The size of the processor's vectors.
    least
        The least instructions of a loop that stays parallel, where nothing is written.
    of_written_byte
        What a byte of outputs adds to that, if these are few.
    """

    register_bits: int
    least: int = _LEAST
    of_written_byte: int = _OF_WRITTEN_BYTE
    name: str = "serial-small-loops"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program whose parallel loops are worth threads."""
        written = sum(each.size * each.dtype.numpy.itemsize for each in function.outputs)
        least = self.least + (self.of_written_byte * written if written <= _NEAR else 0)
        return replace(function, body=self._changed(function.body, least))

    def _changed(self, stmt: Stmt, least: int) -> Stmt:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            if self.instructions(stmt) >= least:
                return stmt
            stmt = replace(stmt, kind=LoopKind.SERIAL)
        return map_children(stmt, lambda child: self._changed(child, least))

    def instructions(self, stmt: Stmt) -> int:
        """About how many instructions a statement executes; a loop whose extent is not known counts
        as many iterations as are worth threads."""
        match stmt:
            case Store():
                return 1 + sum(
                    isinstance(part, Binary | Unary | Cast | Reinterpret | Select)
                    for part in subexpressions(stmt.value)
                )
            case Invoke():
                return _OF_INTRINSIC
            case For():
                return self._times(stmt) * sum(map(self.instructions, children(stmt)))
            case _:
                return sum(map(self.instructions, children(stmt)))

    def _times(self, loop: For) -> int:
        """How often the body of a loop is executed, for all lanes of a register once."""
        if not isinstance(loop.extent, Const):
            return self.least
        if loop.kind is LoopKind.VECTORIZED:
            return registers_of(loop, self.register_bits)
        return int(loop.extent.value)

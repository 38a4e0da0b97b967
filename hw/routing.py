"""Which unit executes which instruction."""

from __future__ import annotations

from hw.encoding import Opcode
from hw.topology import LOADED_BY, MemoryId, Unit

__all__ = ["executing_unit"]


def executing_unit(opcode: Opcode, memory: MemoryId | None = None) -> Unit:
    """The unit to which dispatch sends an instruction; `memory` is that of a LOAD.

    Compute executes everything that no other unit claims: also the illegal LOAD of OUT.
    """
    if opcode is Opcode.STORE:
        return Unit.STORE
    if opcode is Opcode.LOAD and memory in LOADED_BY[Unit.LOAD]:
        return Unit.LOAD
    return Unit.COMPUTE

"""Which unit executes which instruction."""

from __future__ import annotations

from hw.encoding import Opcode
from hw.topology import LOADED_BY, MemoryId, Module

__all__ = ["executing_unit"]


def executing_unit(opcode: Opcode, memory: MemoryId | None = None) -> Module:
    """The unit to which dispatch sends an instruction; `memory` is that of a LOAD.

    Compute executes everything that no other unit claims: also the illegal LOAD of OUT.
    """
    if opcode is Opcode.STORE:
        return Module.STORE
    if opcode is Opcode.LOAD and memory in LOADED_BY[Module.LOAD]:
        return Module.LOAD
    return Module.COMPUTE

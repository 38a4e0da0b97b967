"""Dispatch rule: the unit that executes an instruction."""

from __future__ import annotations

from tandem.hw.encoding import Opcode
from tandem.hw.topology import LOADED_BY, MemoryId, Unit


def executing_unit(opcode: Opcode, memory: MemoryId | None = None) -> Unit:
    """The unit to which dispatch sends an instruction; `memory` is the memory id of a LOAD.

    Compute executes all instructions that load and store do not, even the illegal LOAD of OUT.
    """
    if opcode is Opcode.STORE:
        return Unit.STORE
    if opcode is Opcode.TABLE or (opcode is Opcode.LOAD and memory in LOADED_BY[Unit.LOAD]):
        return Unit.LOAD
    return Unit.COMPUTE

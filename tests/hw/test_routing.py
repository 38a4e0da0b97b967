"""The unit of each instruction."""

from __future__ import annotations

import pytest

from tandem.hw.encoding import Opcode
from tandem.hw.routing import executing_unit
from tandem.hw.topology import MemoryId, Unit


@pytest.mark.parametrize(
    ("opcode", "memory", "unit"),
    [
        *((Opcode.LOAD, memory, Unit.LOAD) for memory in (1, 2, 6, 7)),
        *((Opcode.LOAD, memory, Unit.COMPUTE) for memory in (0, 3, 4, 5, None)),
        *((Opcode.STORE, memory, Unit.STORE) for memory in (None, 2, 4)),
        (Opcode.TABLE, None, Unit.LOAD),
        *((opcode, None, Unit.COMPUTE) for opcode in (2, 3, 4, 5)),
        (Opcode.GEMM, MemoryId.INP, Unit.COMPUTE),
    ],
)
def test_units(opcode: int, memory: int | None, unit: Unit) -> None:
    found = executing_unit(Opcode(opcode), None if memory is None else MemoryId(memory))
    assert found is unit

"""`sim.image_bounds`: programs stay inside their image."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ProgramError
from tandem.hw.isa import Assembler, Program
from tandem.hw.topology import MemoryId
from tandem.sim.errors import MemoryImageError
from tandem.sim.image_bounds import check_image_bounds
from tests.support.hw.vectors import load_vector, vector_names


def _program(*, store_at: int) -> Program:
    """LOAD of bytes 0x40..0x80, then STORE of two rows of 16 bytes, 64 bytes apart."""
    asm = Assembler(HardwareConfig())
    asm.load(MemoryId.ACC, sram=0, dram=1, columns=1)
    asm.store(sram=0, dram=store_at // 16, rows=2, columns=1, stride=4)
    asm.store(sram=0, dram=0x1000, rows=0, columns=0)
    asm.finish()
    return asm.build()


def test_just_inside() -> None:
    check_image_bounds(_program(store_at=0x100), 0x150)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0x14F, r"instruction 1 writes bytes 0x100\.\.0x150 .*: the image ends at 0x14f"),
        (0x7F, r"instruction 0 reads bytes 0x40\.\.0x80 .*: the image ends at 0x7f"),
    ],
)
def test_beyond(size: int, message: str) -> None:
    with pytest.raises(MemoryImageError, match=message):
        check_image_bounds(_program(store_at=0x100), size)


def test_an_illegal_program() -> None:
    with pytest.raises(ProgramError, match="OPCODE"):
        check_image_bounds(Program(HardwareConfig(), b"\xff" * 16), 100)


@pytest.mark.parametrize("name", vector_names())
def test_the_golden_vectors_stay_inside(name: str) -> None:
    vector = load_vector(name)
    check_image_bounds(vector.program, len(vector.before))

"""Placing programs in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Finish, Program
from tandem.sim.engine import Launch
from tandem.sim.errors import MemoryImageError
from tandem.sim.memory import load_program, place_program

CONFIG = HardwareConfig()
PROGRAM = Program.from_instructions(CONFIG, [Finish()] * 3)
SIZE = 48
"""Bytes of it."""


@given(size=st.integers(1, 20000))
def test_the_program_goes_to_the_first_page_above_the_image(size: int) -> None:
    image = np.arange(size, dtype=np.int64).astype(np.uint8)

    memory, address = place_program(image, PROGRAM)

    assert address % 4096 == 0
    assert 0 <= address - size < 4096
    assert len(memory) == address + 4096
    assert memory[:size].tobytes() == image.tobytes()
    assert memory[address : address + SIZE].tobytes() == PROGRAM.data
    assert not memory[size:address].any()
    assert not memory[address + SIZE :].any()


def test_the_image_is_copied_and_may_be_bytes() -> None:
    image = np.ones(100, dtype=np.uint8)

    memory, _ = place_program(image, PROGRAM)
    same, _ = place_program(bytes(image), PROGRAM)
    memory[:] = 7

    assert image.tolist() == [1] * 100
    assert same[:100].tolist() == [1] * 100


def test_an_address_of_ones_own() -> None:
    memory, address = place_program(b"\1" * 100, PROGRAM, 112)
    assert (address, len(memory)) == (112, 4096)
    assert memory[112:160].tobytes() == PROGRAM.data

    memory, address = place_program(b"\1" * 100, PROGRAM, 1 << 16)
    assert (address, len(memory)) == (1 << 16, (1 << 16) + 4096)


@pytest.mark.parametrize("address", [0, 16, 96])
def test_the_program_may_not_overwrite_the_image(address: int) -> None:
    with pytest.raises(MemoryImageError, match=rf"48 bytes at address {address:#x} would .*0x1000"):
        place_program(b"\1" * 100, PROGRAM, address)


def test_an_image_may_hold_the_program_already() -> None:
    image = b"\1" * 64 + PROGRAM.data + b"\2" * 10
    assert place_program(image, PROGRAM, 64)[0][: len(image)].tobytes() == image

    cut = b"\1" * 64 + PROGRAM.data[:20]
    assert place_program(cut, PROGRAM, 64)[0][64:112].tobytes() == PROGRAM.data


@pytest.mark.parametrize("address", [-16, 1, 4104])
def test_addresses_are_multiples_of_16(address: int) -> None:
    with pytest.raises(MemoryImageError, match="must be a multiple of 16"):
        place_program(b"\1", PROGRAM, address)


def test_addresses_end_where_the_bus_does() -> None:
    with pytest.raises(
        MemoryImageError, match=r"ends at 0x100000020: .* of 32 bits, .*0x100000000"
    ):
        place_program(b"\1", PROGRAM, (1 << 32) - 16)
    wide = Program(CONFIG.replace(address_bits=64), PROGRAM.data)
    for address in ((1 << 64) - SIZE, (1 << 63) - 4096, 1 << 60):
        with pytest.raises(MemoryImageError, match=rf"{address:#x} takes \d+ bytes: more than"):
            place_program(b"\1", wide, address)


def test_images_that_are_none() -> None:
    with pytest.raises(MemoryImageError, match="memory image is empty"):
        place_program(b"", PROGRAM)
    with pytest.raises(MemoryImageError, match="array of int32 with 1 dimensions"):
        place_program(np.zeros(4, dtype=np.int32), PROGRAM)
    with pytest.raises(MemoryImageError, match="array of uint8 with 2 dimensions"):
        place_program(np.zeros((4, 4), dtype=np.uint8), PROGRAM)


def test_load_program_copies_it() -> None:
    memory = np.zeros(64, dtype=np.uint8)

    load_program(PROGRAM, memory, Launch(address=16))

    assert memory.tobytes() == b"\0" * 16 + PROGRAM.data


def test_load_program_refuses_memory_that_cannot_hold_it() -> None:
    memory = np.zeros(64, dtype=np.uint8)
    with pytest.raises(MemoryImageError, match=r"bytes 0x20\.\.0x50 .* memory ends at 0x40"):
        load_program(PROGRAM, memory, Launch(address=32))
    with pytest.raises(MemoryImageError, match="address is 0x8: it must be a multiple of 16"):
        load_program(PROGRAM, memory, Launch(address=8))
    with pytest.raises(MemoryImageError, match="contiguous and writable"):
        load_program(PROGRAM, np.zeros(128, dtype=np.uint8)[::2], Launch(address=0))
    memory.flags.writeable = False
    with pytest.raises(MemoryImageError, match="contiguous and writable"):
        load_program(PROGRAM, memory, Launch(address=0))
    with pytest.raises(MemoryImageError, match="array of uint8 with 2 dimensions"):
        load_program(PROGRAM, np.zeros((8, 8), dtype=np.uint8), Launch(address=0))

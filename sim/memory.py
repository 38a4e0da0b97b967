"""Physical memory: an image and a program placed in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.isa import Program
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import MemoryImageError


def place_program(
    image: npt.NDArray[np.uint8] | bytes, program: Program, address: int | None = None
) -> tuple[Bytes, int]:
    """Memory that holds a copy of `image` from address 0, and `program`.

    Without an `address` the program is placed at the first page above the image. An address inside
    the image is refused unless the image has the program's bytes there already.

    Returns
    -------
    tuple
        The memory, a whole number of pages, and the program's address.

    Raises
    ------
    MemoryImageError
        The image is empty, or the program cannot be placed at the address.
    """
    source = np.frombuffer(image, dtype=np.uint8) if isinstance(image, bytes) else image
    _check_flat("the image", source)
    if not len(source):
        raise MemoryImageError("the memory image is empty: it must hold at least one byte")
    if address is None:
        address = _pages(len(source))
    _check_address(address)
    code = np.frombuffer(program.data, dtype=np.uint8)
    _check_end(address + len(code), program.config)
    overlap = source[address : address + len(code)]
    if not np.array_equal(overlap, code[: len(overlap)]):
        raise MemoryImageError(
            f"the program's {len(code)} bytes at address {address:#x} would overwrite the image, "
            f"which ends at {len(source):#x}: the first free page is {_pages(len(source)):#x}"
        )
    size = _pages(max(len(source), address + len(code)))
    try:
        memory = np.zeros(size, dtype=np.uint8)
    except (MemoryError, ValueError):
        raise MemoryImageError(
            f"memory for the image and the program at {address:#x} takes {size} bytes: "
            f"more than there are"
        ) from None
    memory[: len(source)] = source
    memory[address : address + len(code)] = code
    return memory, address


def load_program(program: Program, memory: Bytes, how: Launch) -> None:
    """Copy `program` into `memory` at `how.address`.

    Raises
    ------
    MemoryImageError
        `memory` is not a flat, contiguous, writable array of bytes, or cannot hold the program.
    """
    _check_flat("memory", memory)
    if not memory.flags.c_contiguous or not memory.flags.writeable:
        raise MemoryImageError("memory must be contiguous and writable: engines work in place")
    _check_address(how.address)
    end = how.address + len(program.data)
    if end > len(memory):
        raise MemoryImageError(
            f"the program takes bytes {how.address:#x}..{end:#x} (end excluded): "
            f"memory ends at {len(memory):#x}"
        )
    memory[how.address : end] = np.frombuffer(program.data, dtype=np.uint8)


def check_beats(config: HardwareConfig, memory: Bytes) -> None:
    """Raise `MemoryImageError` if `memory` ends within a beat of the bus."""
    if len(memory) % config.bus_bytes:
        raise MemoryImageError(
            f"memory has {len(memory)} bytes: behind a bus of {config.bus_bits} bits it "
            f"must be a multiple of {config.bus_bytes}"
        )


def _check_flat(name: str, array: Bytes) -> None:
    if array.ndim != 1 or array.dtype != np.uint8:
        raise MemoryImageError(
            f"{name} is an array of {array.dtype} with {array.ndim} dimensions: "
            f"it must be a flat array of uint8"
        )


def _check_address(address: int) -> None:
    if address < 0 or address % INSTRUCTION_BYTES:
        raise MemoryImageError(
            f"the program's address is {address:#x}: it must be a multiple of {INSTRUCTION_BYTES}, "
            f"0 or more"
        )


def _check_end(end: int, config: HardwareConfig) -> None:
    if end > 1 << config.address_bits:
        raise MemoryImageError(
            f"the program ends at {end:#x}: configuration {config.name} has addresses of "
            f"{config.address_bits} bits, which end at {1 << config.address_bits:#x}"
        )


def _pages(size: int) -> int:
    """`size` rounded up to whole pages."""
    return -(-size // PAGE_BYTES) * PAGE_BYTES

"""Base registers, which place each memory's data in DRAM, and the addresses that follow."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import EncodingError
from tandem.hw.topology import BASE_REGISTERS, MemoryId

BASE_BITS = 62
"""Bits of a base register that can be used: all addresses from such bases on fit an int64. The
register has 64, and a machine drops those above `HardwareConfig.address_bits`."""


def check_bases(config: HardwareConfig, bases: Sequence[int]) -> None:
    """Check base registers, which are in bytes and by `MemoryId`.

    Raises
    ------
    EncodingError
        A base register is invalid: names the memory and the allowed values.
    """
    if len(bases) != BASE_REGISTERS:
        raise EncodingError(
            f"{len(bases)} base registers: there are {BASE_REGISTERS}, one a memory"
        )
    for memory, base in zip(MemoryId, bases, strict=False):
        size = config.element_bytes(memory)
        if not 0 <= base < 1 << BASE_BITS or base % size:
            raise EncodingError(
                f"the base register of {memory.name} is {base}: it must be a multiple of {size} "
                f"(an element's bytes) in 0..2^{BASE_BITS}-1"
            )


def bases_by_memory(bases: Sequence[int]) -> tuple[int, ...]:
    """The base of each memory id, of the values of the base registers."""
    return tuple(bases[memory.base] for memory in MemoryId)


def address_mask(config: HardwareConfig) -> int:
    """The bits of an address that the machine has, as a mask of an int64."""
    return (1 << min(config.address_bits, BASE_BITS + 1)) - 1

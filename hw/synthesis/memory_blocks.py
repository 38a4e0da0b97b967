"""How a machine's memories become block RAM or look-up tables, by a rule of their shapes.

A block of 18 Kbit is 512 words of 36 bits, or twice as many of half the width, down to single bits.
Memories of fewer words than `LEAST_WORDS`, and queues whose head is shown in a register, are
look-up tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tandem.hw.config import HardwareConfig
from tandem.hw.storage import Kind, storage_of

LEAST_WORDS = 64
SHALLOW_QUEUE = 64
"""The greatest depth of a queue that is look-up tables (`hw.rtl.queue`)."""
_BLOCK_WORDS = 512
_BLOCK_WIDTHS = (36, 18, 9, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class Array:
    """Equal arrays of words.

    Attributes
    ----------
    queue
        Whether they are queues, whose head is read without a clock if they are shallow.
    """

    width: int
    words: int
    count: int
    queue: bool = False

    @property
    def bits(self) -> int:
        """Of all arrays together."""
        return self.width * self.words * self.count

    @property
    def blocks(self) -> int:
        """Blocks of 18 Kbit; 0 for look-up tables."""
        if self.words < LEAST_WORDS or (self.queue and self.words <= SHALLOW_QUEUE):
            return 0
        words, parts = _BLOCK_WORDS, 1
        for width in _BLOCK_WIDTHS:
            if self.words <= words or width == 1:
                parts = -(-self.words // words)
                return self.count * parts * -(-self.width // width)
            words *= 2
        raise AssertionError("the last width is 1")


def arrays(config: HardwareConfig) -> Iterator[Array]:
    """The arrays of a machine: banks of its memories, and its deeper queues."""
    for storage in storage_of(config).values():
        if storage.kind is not Kind.TRANSFERS:
            banks = storage.copies * storage.width // storage.bank
            yield Array(storage.bank, storage.depth, banks, queue=storage.kind is Kind.QUEUE)


def block_ram(config: HardwareConfig) -> int:
    """Blocks of 18 Kbit of all memories and queues."""
    return sum(array.blocks for array in arrays(config))


def table_bits(config: HardwareConfig) -> int:
    """Bits of memories and queues that are look-up tables."""
    return sum(array.bits for array in arrays(config) if not array.blocks)

"""How a block of compressed weights lies in DRAM: the field `coding` of LOAD."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tandem.hw.errors import ConfigError
from tandem.hw.weight_formats import SCALE_BITS, WeightFormat

CODING_BITS: Final = 2
"""Bits of the field; all its values have a meaning."""
TABLE_ENTRIES: Final = 16
"""Entries of the widener's table, one for each code of the widest kind."""


class Coding(IntEnum):
    """The width of a code, and whether the block begins with scales: one for each output channel.

    Weight i of a block, as int8 blocks count them (by output channel, then by input channel), is
    bits [i * bits, (i + 1) * bits) of the codes, from the lowest bit of the first byte up. Scale i
    is bits [4 * i, 4 * (i + 1)) of the scales. Scales and codes fill whole beats; what is left of
    the last beat has no meaning.
    """

    bits: int
    scaled: bool

    BITS_1 = (0, 1, False)
    BITS_2 = (1, 2, False)
    BITS_4 = (2, 4, False)
    BITS_4_SCALED = (3, 4, True)

    def __new__(cls, code: int, bits: int, scaled: bool) -> Coding:
        """The member with this value of the field."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.bits = bits
        member.scaled = scaled
        return member

    @classmethod
    def of(cls, weights: WeightFormat) -> Coding:
        """The coding of a format.

        Raises
        ------
        ConfigError
            Codes of fewer than four bits with scales.
        """
        for coding in cls:
            if (coding.bits, coding.scaled) == (weights.bits, weights.scaled):
                return coding
        raise ConfigError(
            f"format {weights.name}: scales with codes of {weights.bits} bits; only codes of 4 "
            f"bits can have scales"
        )

    def scale_bytes(self, block_out: int, bus_bytes: int) -> int:
        """The bytes of the scales of a block, which fill whole beats; 0 without scales."""
        return _whole_beats(SCALE_BITS * block_out, bus_bytes) if self.scaled else 0

    def code_bytes(self, block_out: int, block_in: int, bus_bytes: int) -> int:
        """The bytes of the codes of a block, which fill whole beats."""
        return _whole_beats(self.bits * block_out * block_in, bus_bytes)


def _whole_beats(bits: int, bus_bytes: int) -> int:
    return -(-bits // (8 * bus_bytes)) * bus_bytes

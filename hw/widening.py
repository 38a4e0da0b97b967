"""The pace of the widener: banks of WGT that a beat of codes fills, and in how many steps."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

MOST_BANKS = 4
"""The most banks, of a beat each, that are written in one cycle: what a beat of codes of 2 bits
fills. A beat of codes of 1 bit takes two cycles."""
TABLE_CYCLES = 8
"""Cycles of a TABLE: an entry each."""
NARROW_ENTRIES = 4
"""Entries of the table that codes of 2 bits reach."""
TABLE_READ_PORTS = 3
"""Lanes that share a copy of the table: as many as read a memory of four look-up tables of xc7."""


@dataclass(frozen=True, slots=True)
class Widening:
    """The machine's widener.

    Attributes
    ----------
    banks
        Banks of an element of WGT, of a beat each.
    scale_beats
        Beats of scales in front of the codes of a block.
    wide_lanes
        Lanes for codes of all widths: the weights of a beat of 4-bit codes.
    """

    banks: int
    scale_beats: int
    wide_lanes: int

    @property
    def word_banks(self) -> int:
        """The most banks that are written in one cycle."""
        return min(self.banks, MOST_BANKS)

    @property
    def narrow_lanes(self) -> int:
        """Lanes that only codes of 1 and 2 bits reach."""
        return max(0, self.word_banks * self.wide_lanes // 2 - self.wide_lanes)

    @property
    def table_copies(self) -> dict[int, int]:
        """Copies of the table, by the number of entries that they have."""
        lanes = {TABLE_ENTRIES: self.wide_lanes, NARROW_ENTRIES: self.narrow_lanes}
        return {entries: -(-count // TABLE_READ_PORTS) for entries, count in lanes.items()}

    def banks_of_step(self, coding: Coding) -> int:
        """Banks that codes fill in one cycle."""
        return min(self.word_banks, 8 // coding.bits)

    def steps(self, coding: Coding) -> int:
        """Cycles of a beat of codes."""
        return min(self.banks, 8 // coding.bits) // self.banks_of_step(coding)


def widening_of(config: HardwareConfig) -> Widening:
    """The widener of a machine, as it would be where it has none."""
    scales = Coding.BITS_4_SCALED.scale_bytes(config.block_out, config.bus_bytes)
    return Widening(
        banks=max(1, config.element_bytes(MemoryId.WGT) // config.bus_bytes),
        scale_beats=scales // config.bus_bytes,
        wide_lanes=2 * config.bus_bytes,
    )

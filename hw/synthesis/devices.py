"""FPGAs, and what they have.

Sources: Lattice FPGA-DS-02012 (ECP5 family, table 1.1), AMD DS190 (Zynq-7000, tables of the
programmable logic), DS891 (Zynq UltraScale+, tables of devices), DS890 (UltraScale architecture,
Virtex UltraScale+).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tandem.hw.synthesis.families import Family


@dataclass(frozen=True, slots=True)
class Part:
    """An FPGA.

    Attributes
    ----------
    lut
        Look-up tables: of four inputs in ECP5, of six in AMD's.
    dsp
        Multiplier blocks: MULT18X18D, DSP48E1 or DSP48E2.
    bram
        Blocks of 18 Kbit.
    """

    name: str
    family: Family
    lut: int
    dsp: int
    bram: int


DEVICES: Mapping[str, Part] = MappingProxyType(
    {
        part.name: part
        for part in (
            Part("LFE5U-25F", Family.ECP5, 24_000, 28, 56),
            Part("LFE5U-45F", Family.ECP5, 44_000, 72, 108),
            Part("LFE5U-85F", Family.ECP5, 84_000, 156, 208),
            Part("XC7Z010", Family.XC7, 17_600, 80, 120),
            Part("XC7Z020", Family.XC7, 53_200, 220, 280),
            Part("XC7Z045", Family.XC7, 218_600, 900, 1_090),
            Part("XCZU3EG", Family.XCUP, 70_560, 360, 432),
            Part("XCZU7EV", Family.XCUP, 230_400, 1_728, 624),
            Part("XCVU9P", Family.XCUP, 1_182_240, 6_840, 4_320),
        )
    }
)
"""The FPGAs that a space can name, by name."""

"""FPGA families: Yosys's command for each, and the resources that each cell uses.

A LUT used as memory or as a shift register counts as `lut` and as `lutram`. Parts of every slice
(carry chains, wide multiplexers) are not counted.

Sources: UG474, UG574 (distributed RAM and shift registers), UG473, UG573 (block RAM), Lattice
TN1264 (three slices of two LUTs for a 16x4 RAM) and FPGA-DS-02012 (a slice in ripple mode).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Resources of one cell, in the units of `hw.synthesis.resources.Resources`."""

    lut: int = 0
    lutram: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0


class Family(Enum):
    """FPGA families that Yosys supports; values are the names on the command line."""

    XC7 = "xc7"
    """AMD 7 series: Zynq-7000, Artix-7, Kintex-7."""
    XCUP = "xcup"
    """AMD UltraScale+: Zynq UltraScale+ among them."""
    ECP5 = "ecp5"
    """Lattice ECP5."""

    @property
    def command(self) -> str:
        """Yosys's synthesis command, without pads: the accelerator is part of a larger chip."""
        if self is Family.ECP5:
            return "synth_ecp5 -noiopad"
        return f"synth_xilinx -family {self.value} -flatten -noiopad -noclkbuf"

    @property
    def mapping(self) -> str:
        """The label in the synthesis command at which memory mapping begins."""
        return "map_ram" if self is Family.ECP5 else "map_memory"


def _memory(luts: int) -> Cost:
    return Cost(lut=luts, lutram=luts)


MEMORY_CELLS: Mapping[Family, Mapping[str, Cost]] = {
    Family.XC7: {
        "RAM32X1D": _memory(2),
        "RAM64X1D": _memory(2),
        "RAM128X1D": _memory(4),
        "RAM32M": _memory(4),
        "RAM64M": _memory(4),
        "RAMB18E1": Cost(bram=1),
        "RAMB36E1": Cost(bram=2),
    },
    Family.XCUP: {
        "RAM32X1D": _memory(2),
        "RAM64X1D": _memory(2),
        "RAM128X1D": _memory(4),
        "RAM256X1D": _memory(8),
        "RAM32M": _memory(4),
        "RAM64M": _memory(4),
        "RAM32M16": _memory(8),
        "RAM64M8": _memory(8),
        "RAMB18E2": Cost(bram=1),
        "RAMB36E2": Cost(bram=2),
    },
    Family.ECP5: {
        "TRELLIS_DPR16X4": _memory(6),
        "DP16KD": Cost(bram=1),
        "PDPW16KD": Cost(bram=1),
    },
}
"""Cells that implement a memory with one write port and one read port, by family."""

_NOTHING = Cost()
_LUT = Cost(lut=1)
_FF = Cost(ff=1)
_DSP = Cost(dsp=1)
# Flattening leaves a `$scopeinfo` cell in place of each module.
_ANY = {"$scopeinfo": _NOTHING}
_AMD = {
    **_ANY,
    **{f"LUT{inputs}": _LUT for inputs in range(1, 7)},
    "INV": _LUT,
    **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), _FF),
    **dict.fromkeys(("CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9"), _NOTHING),
    **dict.fromkeys(("SRL16E", "SRLC32E"), _memory(1)),
}

CELLS: Mapping[Family, Mapping[str, Cost]] = {
    Family.XC7: {**_AMD, **MEMORY_CELLS[Family.XC7], "DSP48E1": _DSP},
    Family.XCUP: {**_AMD, **MEMORY_CELLS[Family.XCUP], "DSP48E2": _DSP},
    Family.ECP5: {
        **_ANY,
        **MEMORY_CELLS[Family.ECP5],
        "LUT4": _LUT,
        "CCU2C": Cost(lut=2),
        **dict.fromkeys(("PFUMX", "L6MUX21"), _NOTHING),
        "TRELLIS_FF": _FF,
        "MULT18X18D": _DSP,
    },
}
"""The cost of each cell, by family; `count` refuses any other cell."""

"""Gate equivalents: the area of Yosys's generic cells and of memory bits, in NAND2 gates.

Areas of gates are those of the Nangate 45 nm Open Cell Library (drive X1): NAND2 0.798 um2, INV
0.532, AND2 and OR2 1.064, NOR2 0.798, XOR2 and XNOR2 1.596, MUX2 1.862, DFF 4.522. A flip-flop with
enable has a multiplexer in front of it, one with synchronous reset an AND gate.

Memory: OpenRAM generates SRAM of 0.826 Mbit/mm2 in the same technology, FreePDK45 (Guthaus et al.,
ICCAD 2016, the table of densities), periphery included: 1.21 um2 a bit, 1.5 NAND2. All on-chip
memories and queues count alike, with as many copies as the design has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tandem.hw.synthesis.errors import SynthesisError

NAND2_UM2 = 0.798
"""The area of a NAND2 gate in square micrometres."""
MEMORY_BIT = 1.5
"""The area of a bit of memory, in NAND2."""

_DFF = 4.522 / NAND2_UM2
_MUX = 1.862 / NAND2_UM2
_AND = 1.064 / NAND2_UM2

GATES: Mapping[str, float] = {
    "$_NOT_": 0.532 / NAND2_UM2,
    "$_NAND_": 1.0,
    "$_NOR_": 1.0,
    "$_AND_": _AND,
    "$_OR_": _AND,
    "$_XOR_": 1.596 / NAND2_UM2,
    "$_XNOR_": 1.596 / NAND2_UM2,
    "$_MUX_": _MUX,
}
"""The area of each combinational cell, in NAND2."""
NO_AREA = frozenset({"$mem_v2", "$scopeinfo"})
"""Cells without area: memories, whose bits are counted."""

_FLIP_FLOP = re.compile(r"\$_(S?)DFF(C?E?)_[PN01]+_")


def gate_area(cell: str) -> float:
    """The area of a generic cell, in NAND2.

    Raises
    ------
    SynthesisError
        A cell that is not generic, such as `$add`.
    """
    if cell in GATES:
        return GATES[cell]
    if cell in NO_AREA:
        return 0.0
    if (flip_flop := _FLIP_FLOP.fullmatch(cell)) is None:
        raise SynthesisError(f"synthesis left a cell whose area is not known: {cell}")
    reset, enable = flip_flop.groups()
    return _DFF + bool(reset) * _AND + bool(enable) * _MUX

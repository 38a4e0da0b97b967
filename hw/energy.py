"""Energy of a run, by the number of its operations and a table of picojoules.

Source: M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, figure
1.1.9, for 45 nm at 0.9 V: an 8-bit addition 0.03 pJ, a 32-bit one 0.1, an 8-bit multiplication 0.2,
a 32-bit one 3.1; a cache of 8 KiB 10 pJ for 64 bits, of 32 KiB 20, of 1 MiB 100; DRAM 1.3 to 2.6 nJ
for 64 bits, of which the mean is taken. Between these sizes SRAM's energy is interpolated in the
logarithms of both. Clocks, control and leakage are not in it: use it to compare machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

MAC_PJ = 0.2 + 0.1
"""An 8-bit product and its addition to a 32-bit sum."""
ALU_PJ = 0.1
"""A 32-bit addition, which stands for every operation of the ALU."""
DRAM_PJ_BYTE = (1300 + 2600) / 2 / 8
_SRAM_PJ = ((8 << 10, 10.0), (32 << 10, 20.0), (1 << 20, 100.0))
"""Bytes of an SRAM, and the energy of 64 bits read or written."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What a run does.

    Attributes
    ----------
    gemm_uops, alu_uops
        Micro-ops, loops included.
    dram_bytes
        Read and written, instructions included.
    """

    gemm_uops: int
    alu_uops: int
    dram_bytes: int


def sram_pj_byte(size: int) -> float:
    """The energy of a byte read from or written to an SRAM of `size` bytes, in picojoules."""
    points = [(log(bytes_), log(energy)) for bytes_, energy in _SRAM_PJ]
    (x0, y0), (x1, y1) = points[:2] if size < _SRAM_PJ[1][0] else points[1:]
    return exp(y0 + (y1 - y0) * (log(size) - x0) / (x1 - x0)) / 8


def energy_pj(config: HardwareConfig, operations: Operations) -> float:
    """The energy of a run on a machine, in picojoules.

    A GEMM micro-op reads a micro-op, an element of INP, one of WGT and one of ACC, and writes one
    of ACC with its mirror OUT; one of the ALU reads two elements of ACC. What moves between DRAM
    and a memory on chip is written to or read from an SRAM of WGT's size.
    """

    def access(memory: MemoryId) -> float:
        size = config.element_bytes(memory) * config.depth(memory)
        return config.element_bytes(memory) * sram_pj_byte(size)

    written = access(MemoryId.ACC) * config.acc_read_ports + access(MemoryId.OUT)
    gemm = (
        config.macs * MAC_PJ
        + access(MemoryId.UOP)
        + access(MemoryId.INP)
        + access(MemoryId.WGT)
        + access(MemoryId.ACC)
        + written
    )
    alu = config.acc_lanes * ALU_PJ + access(MemoryId.UOP) + 2 * access(MemoryId.ACC) + written
    on_chip = sram_pj_byte(config.element_bytes(MemoryId.WGT) * config.depth(MemoryId.WGT))
    return (
        operations.gemm_uops * gemm
        + operations.alu_uops * alu
        + operations.dram_bytes * (DRAM_PJ_BYTE + on_chip)
    )

"""Work in a program (bytes, micro-ops, instructions): independent of data and time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import Columns
from tandem.hw.isa.element_sizes import element_sizes
from tandem.hw.isa.program import Program
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Bytes copied, micro-ops executed and instructions in one program.

    Attributes
    ----------
    loaded
        Bytes read from DRAM by LOADs, by memory (each memory that can be loaded has an entry).
        Padding is not read.
    stored
        Bytes written to DRAM by STOREs.
    gemm_uops
        Micro-ops that multiply, loops included.
    reset_uops
        Micro-ops of GEMMs with reset, loops included.
    alu_uops
        Micro-ops of ALU instructions, loops included.
    instructions
        Instructions by opcode (each opcode has an entry).
    """

    loaded: dict[MemoryId, int]
    stored: int
    gemm_uops: int
    reset_uops: int
    alu_uops: int
    instructions: dict[Opcode, int]


def work_of(program: Program) -> Work:
    """The work of a legal program."""
    return work_of_columns(program.config, program.columns())


def work_of_columns(config: HardwareConfig, columns: Columns) -> Work:
    """`work_of` a program that is decoded already."""
    elements = columns.y_size * columns.x_size
    uops = (columns.uop_end - columns.uop_bgn) * columns.iter_out * columns.iter_in
    gemm = columns.opcode == Opcode.GEMM
    reset = columns.reset_reg == 1
    store = columns.opcode == Opcode.STORE
    return Work(
        loaded=_loaded(config, columns),
        stored=int(elements[store].sum()) * config.element_bytes(MemoryId.OUT),
        gemm_uops=int(uops[gemm & ~reset].sum()),
        reset_uops=int(uops[gemm & reset].sum()),
        alu_uops=int(uops[columns.opcode == Opcode.ALU].sum()),
        instructions={op: int(np.count_nonzero(columns.opcode == op)) for op in Opcode},
    )


def _loaded(config: HardwareConfig, columns: Columns) -> dict[MemoryId, int]:
    moved = columns.y_size * columns.x_size * element_sizes(config, columns)
    load = columns.opcode == Opcode.LOAD
    return {
        memory: int(moved[load & (columns.memory_type == memory)].sum())
        for memory in MemoryId
        if memory is not MemoryId.OUT
    }

"""STORE: the low 8 bits of accumulators, or elements of OUT, to a rectangle of DRAM."""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.hw.isa.columns import (
    CODING,
    MEMORY_TYPE,
    SRAM_BASE,
    X_SIZE,
    Y_SIZE,
    InstructionFields,
)
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.detail import BUS_WRITE, NONE, Detail
from tandem.sim.semantics.dram import Dram, row_address, rows_accessible
from tandem.sim.semantics.requantiser import Requantiser
from tandem.sim.semantics.view import view


@compiled
def store(chip: Chip, dram: Dram, row: InstructionFields, detail: Detail) -> int:
    """Execute a STORE that `hw.isa.validate` accepts. Returns a fault's code, or 0."""
    if row[X_SIZE] == 0:
        return NONE
    size = chip.element_bytes[row[MEMORY_TYPE], row[CODING]]
    if not rows_accessible(dram, row, size, detail):
        return BUS_WRITE
    at = row[SRAM_BASE]
    for y in range(row[Y_SIZE]):
        address = row_address(dram, row, y)
        for x in range(row[X_SIZE]):
            _copy_element(chip, at + x, dram, address + x * size)
        at += row[X_SIZE]
    return NONE


@inlined
def _copy_element(chip: Chip, at: int, dram: Dram, address: int) -> None:
    for b in range(chip.batch):
        start = (at * chip.batch + b) * chip.row_out
        source = view(chip.acc, start, chip.block_out)
        start = address + b * chip.block_out
        to = view(dram.bytes, start, chip.block_out)
        for out in range(len(to)):
            to[out] = source[out] & 0xFF


@compiled
def store_out(
    chip: Chip, requantiser: Requantiser, dram: Dram, row: InstructionFields, detail: Detail
) -> int:
    """`store` on a machine with an OUT of its own."""
    if row[X_SIZE] == 0:
        return NONE
    size = chip.element_bytes[row[MEMORY_TYPE], row[CODING]]
    if not rows_accessible(dram, row, size, detail):
        return BUS_WRITE
    at = row[SRAM_BASE]
    for y in range(row[Y_SIZE]):
        address = row_address(dram, row, y)
        for x in range(row[X_SIZE]):
            for b in range(chip.batch):
                start = ((at + x) * chip.batch + b) * chip.row_out
                source = view(requantiser.out, start, chip.block_out)
                to = view(dram.bytes, address + x * size + b * chip.block_out, chip.block_out)
                for out in range(len(to)):
                    to[out] = source[out]
        at += row[X_SIZE]
    return NONE

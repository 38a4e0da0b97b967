"""Refuses programs that write their own micro-ops or instructions.

Stalls depend on the contents of micro-ops, which the engine takes from memory as it is at launch,
and so it takes the instructions.
"""

from __future__ import annotations

import numpy as np

from tandem.hw.hazards.dram import Rectangles
from tandem.hw.isa import Columns, MemoryId, Opcode
from tandem.sim.errors import EngineError


def check_micro_op_sources(columns: Columns, accesses: Rectangles) -> None:
    """Raise `EngineError` if a LOAD of micro-ops reads a byte that an earlier STORE writes."""
    reads = (columns.opcode == Opcode.LOAD) & (columns.memory_type == MemoryId.UOP)
    if not reads.any():
        return
    loads = np.flatnonzero(reads & (accesses.rows > 0))
    stores = np.flatnonzero(accesses.stores)
    firsts, ends = accesses.first, accesses.end
    stored_first, stored_end = firsts[stores], ends[stores]
    for load in loads.tolist():
        near = (stored_first < ends[load]) & (stored_end > firsts[load]) & (stores < load)
        for store in stores[near].tolist():
            if _overlap(accesses, load, store):
                raise EngineError(
                    f"instruction {load} loads micro-ops that instruction {store} stores: the "
                    f"cycle engine takes micro-ops from memory as it is at launch; the other "
                    f"engines run it"
                )


def check_program(accesses: Rectangles, address: int, size: int, dispatched: int) -> None:
    """Raise `EngineError` if a STORE writes to the program of `size` bytes at `address`; only the
    first `dispatched` instructions execute."""
    end = address + size
    near = accesses.stores & (accesses.first < end) & (accesses.end > address)
    for store in np.flatnonzero(near[:dispatched]).tolist():
        starts, ends = _rows(accesses, store)
        if ((starts < end) & (ends > address)).any():
            raise EngineError(
                f"instruction {store} stores to where the program lies, {address:#x}..{end:#x}: "
                f"the cycle engine takes instructions from memory as it is at launch; the other "
                f"engines run it"
            )


def _overlap(accesses: Rectangles, one: int, other: int) -> bool:
    """Whether two accesses have a byte in common."""
    starts, ends = zip(*(_rows(accesses, which) for which in (one, other)), strict=True)
    after = np.searchsorted(starts[1], starts[0], side="right")
    # A row meets the last row of the other access that begins before it, or the next one.
    before_ends = np.where(after > 0, ends[1][np.maximum(after - 1, 0)], 0)
    next_starts = np.append(starts[1], np.iinfo(np.int64).max)[after]
    return bool(((before_ends > starts[0]) | (next_starts < ends[0])).any())


def _rows(accesses: Rectangles, which: int) -> tuple[np.ndarray, np.ndarray]:
    starts = accesses.row_starts(np.array([which]))
    return starts, starts + accesses.length[which]

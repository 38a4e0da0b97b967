"""The two load DMAs: when each element of a LOAD is written, and so when the LOAD ends (rule 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined
from tandem.hw.codings import Coding
from tandem.hw.isa.columns import (
    CODING,
    MEMORY_TYPE,
    X_PAD_0,
    X_PAD_1,
    X_SIZE,
    Y_PAD_0,
    Y_PAD_1,
    InstructionFields,
)
from tandem.hw.topology import MemoryId
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.reads import USED, Reads

Ints = npt.NDArray[np.int64]
WGT_CODES = int(MemoryId.WGT_CODES)
BITS_1 = int(Coding.BITS_1)

# The state of a DMA, indexed by these constants.
INSTRUCTION = 0
"""The LOAD in progress, or -1."""
WRITTEN = 1
"""The cycle of the last write, or of its setup."""
ELEMENT = 2
"""Bytes of an element."""
ROW = 3
"""Rows begun."""
COLUMNS = 4
"""Elements of the row that were written."""
PLACE = 5
"""Byte offset, in its beat, of the next element."""
BANKS = 6
"""Beats of the element that were written, if it is wider than a beat."""
FIRST = 7
"""Address of the next row's first element, as an offset in a beat."""
STEP = 8
"""Bytes from row to row."""
WRITES = 9
"""Writes of the LOAD so far."""
STEPS = 10
"""Cycles of a beat: more than one where codes are widened in steps."""
FIELDS = 11


@inlined
def begin(
    machine: Machine, dma: Ints, row: InstructionFields, size: int, address: int, now: int
) -> None:
    """Begin a LOAD of elements of `size` bytes in cycle `now`."""
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    beat = (1 << machine.beat_shift) - 1
    dma[ELEMENT] = size
    dma[STEPS] = 1
    if row[MEMORY_TYPE] == WGT_CODES and row[CODING] == BITS_1:
        dma[STEPS] = machine.slow_steps
    dma[WRITES] = row[Y_PAD_0] * width
    dma[WRITTEN] = now + 1 + dma[WRITES]
    dma[ROW] = 0
    dma[COLUMNS] = row[X_SIZE]
    dma[BANKS] = 0
    dma[FIRST] = address & beat


@inlined
def take_burst(
    machine: Machine,
    reads: Reads,
    which: int,
    dma: Ints,
    row: InstructionFields,
    stride: int,
    first: int,
    beats: int,
) -> None:
    """Write the elements of a burst whose first beat arrives in cycle `first`."""
    size, bytes_of_beat = dma[ELEMENT], 1 << machine.beat_shift
    number, ring = reads.clients[which, USED], reads.used_mask
    now, columns, writes = dma[WRITTEN], dma[COLUMNS], dma[WRITES]
    available = first + 1
    if columns == row[X_SIZE]:
        # A row begins with the burst.
        if dma[ROW] > 0:
            now += row[X_PAD_1]
            writes += row[X_PAD_1]
        now += row[X_PAD_0]
        writes += row[X_PAD_0]
        columns = 0
        dma[PLACE] = (dma[FIRST] + dma[ROW] * stride) & (bytes_of_beat - 1)
        dma[ROW] += 1
    if dma[STEPS] > 1:
        steps = dma[STEPS]
        for _ in range(beats):
            now = max(now + 1, available) + steps - 1
            available += machine.interval
            reads.used[which, number & ring] = now
            number += 1
        elements, written = divmod(dma[BANKS] + beats, size // bytes_of_beat)
        dma[BANKS] = written
        columns += elements
        writes += beats * steps
    elif size >= bytes_of_beat:
        # Beat n is written in max(now + 1 + n, available + n * interval).
        begun = number & ring
        straight = min(beats, ring + 1 - begun)
        _write(reads.used, which, begun, straight, now + 1, available, machine.interval)
        late = available + straight * machine.interval
        _write(reads.used, which, 0, beats - straight, now + 1 + straight, late, machine.interval)
        number += beats
        now = max(now + beats, available + (beats - 1) * machine.interval)
        elements, written = divmod(dma[BANKS] + beats, size // bytes_of_beat)
        dma[BANKS] = written
        columns += elements
        writes += beats
    else:
        for _ in range(beats):
            here = min((bytes_of_beat - dma[PLACE]) // size, row[X_SIZE] - columns)
            now = max(now + 1, available) + here - 1
            available += machine.interval
            reads.used[which, number & ring] = now
            number += 1
            columns += here
            writes += here
            dma[PLACE] = 0
    reads.clients[which, USED] = number
    dma[WRITTEN], dma[COLUMNS], dma[WRITES] = now, columns, writes


@inlined
def _write(
    used: Ints, which: int, at: int, count: int, earliest: int, available: int, interval: int
) -> None:
    """Use `count` beats, each a cycle after the one before it and when it is available."""
    for beat in range(count):
        used[which, at + beat] = max(earliest + beat, available + beat * interval)


@inlined
def end(dma: Ints, row: InstructionFields) -> int:
    """The cycle in which the LOAD ends, after its last burst."""
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    rest = row[X_PAD_1] + row[Y_PAD_1] * width
    dma[WRITES] += rest
    return int(dma[WRITTEN] + rest)

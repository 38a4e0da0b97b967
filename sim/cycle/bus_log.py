"""The fault of a bus on which nothing moves: rule 11.

A silent cycle is one in which a read or a write is outstanding and nothing moves on the bus. As
nothing before a fault depends on it, the run is computed as if there were no limit, and keeps a log
of the bus; the first `bus_timeout` silent cycles in a row are found in it afterwards.
"""

from __future__ import annotations

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.faults import Fault
from tandem.hw.instruction_fields import MEMORY_BITS
from tandem.hw.isa import Columns, Opcode
from tandem.hw.isa.element_sizes import element_sizes
from tandem.sim.cycle.faults import OF_READ, OF_WRITE, report
from tandem.sim.cycle.state import LAST, LONGEST_WAIT, BusLog, Ints, Run

# Fields of a burst that is read. Its beats are in two parts, of which a silence may lie between.
GRANTED = 0
ACCEPTED = 1
FIRST = 2
BEATS = 3
"""Of the first part."""
LATER = 4
"""The first beat of the second part."""
MORE = 5
"""Beats of the second part."""
INSTRUCTION = 6
ADDRESS = 7
"""In beats."""
READ_FIELDS = 8

# Fields of a write order.
TAKEN = 0
ISSUED = 1
"""The cycle in which memory accepts its address; -1 for an order without a burst."""
ANSWERED = 2
DONE = 3
ORDERED_BY = 4
PLACE = 5
"""The address in beats."""
WRITE_FIELDS = 6

_TO_FAULT = 1
"""Cycles from the last of so many silent ones to the fault, with one between them."""


def make_log(columns: Columns, config: HardwareConfig) -> BusLog:
    """Room for all that a program can do on the bus. An instruction of a memory that does not
    exist, or is smaller than what it moves, is a fault before it moves anything."""
    beat_bytes = config.bus_bytes
    depth = np.zeros(1 << MEMORY_BITS, np.int64)
    for memory in config.memories:
        depth[memory] = config.depth(memory)
    rows, width = columns.y_size.astype(np.int64), columns.x_size.astype(np.int64)
    fits = rows * width <= depth[columns.memory_type]
    sizes = np.where(fits, width * element_sizes(config, columns), 0)
    beats = np.where(sizes > 0, rows * (sizes // beat_bytes + 2), 1)
    fetched = len(columns.opcode) * INSTRUCTION_BYTES // beat_bytes + 2
    moved = {
        opcode: int(beats[columns.opcode == opcode].sum()) for opcode in (Opcode.LOAD, Opcode.STORE)
    }
    return BusLog(
        reads=np.zeros((moved[Opcode.LOAD] + fetched, READ_FIELDS), np.int64),
        writes=np.zeros((moved[Opcode.STORE] + 1, WRITE_FIELDS), np.int64),
        beats=np.zeros(moved[Opcode.STORE] + 1, np.int64),
        counts=np.zeros(2, np.int64),
    )


def no_log() -> BusLog:
    """The log of a run that keeps none."""
    return BusLog(*(np.zeros((1, 1), np.int64) for _ in range(2)), *np.zeros((2, 2), np.int64))


def find_silence(run: Run, beats: int, limit: int, interval: int, beat_bytes: int) -> int:
    """Report the fault of a bus on which nothing moves for `limit` cycles; returns the address of
    the oldest burst then, or -1. `beats` of write data were sent."""
    reads = run.bus.reads[: run.bus.counts[0]]
    writes = run.bus.writes[: run.bus.counts[1]]
    start = first_silence(reads, writes, run.bus.beats[:beats], limit, interval)
    # A run that has ended by then is not stopped any more.
    if start < 0 or start + limit + _TO_FAULT > run.state[LAST]:
        return -1
    now = start + limit + _TO_FAULT
    open_reads = reads[(reads[:, GRANTED] < now - 1) & (_ends(reads, interval) >= now - 1)]
    if len(open_reads):
        source, oldest = OF_READ, open_reads[0]
        instruction, place = int(oldest[INSTRUCTION]), int(oldest[ADDRESS])
    else:
        source = OF_WRITE
        orders = writes[writes[:, DONE] >= now]
        instruction = int(orders[0, ORDERED_BY])
        bursts = writes[(writes[:, ISSUED] >= 0) & (writes[:, DONE] >= now - 1)]
        place = int(bursts[0, PLACE])
    if not report(run.state, now, source, int(Fault.BUS_TIMEOUT), instruction):
        return -1
    return place * beat_bytes


def _ends(reads: Ints, interval: int) -> Ints:
    """The cycle of each burst's last beat."""
    first = reads[:, FIRST] + (reads[:, BEATS] - 1) * interval
    later = reads[:, LATER] + (reads[:, MORE] - 1) * interval
    return np.asarray(np.where(reads[:, MORE] > 0, later, first))


def first_silence(reads: Ints, writes: Ints, sent: Ints, limit: int, interval: int) -> int:
    """The first of `limit` silent cycles in a row, or -1."""
    begins = np.concatenate([reads[:, GRANTED], writes[:, TAKEN]]) + 1
    ends = np.concatenate([_ends(reads, interval), writes[:, DONE]])
    if not len(begins):
        return -1
    bursts = writes[writes[:, ISSUED] >= 0]
    moves = np.concatenate(
        [
            reads[:, ACCEPTED],
            _beats(reads[:, FIRST], reads[:, BEATS], interval),
            _beats(reads[:, LATER], reads[:, MORE], interval),
            bursts[:, ISSUED],
            sent,
            bursts[:, ANSWERED],
            writes[:, DONE],
        ]
    )
    # Where something is owed: [begin, end], apart from each other, in order.
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    new = np.append(True, begins[1:] > ends[:-1] + 1)
    firsts, lasts = begins[new], ends[np.append(new[1:], True)]
    # A silence begins behind a move, or where something comes to be owed.
    moves = np.unique(moves)
    starts = np.unique(np.concatenate([firsts, moves + 1]))
    where = np.searchsorted(firsts, starts, side="right") - 1
    inside = (where >= 0) & (starts <= lasts[np.maximum(where, 0)])
    starts, where = starts[inside], where[inside]
    following = np.append(moves, LONGEST_WAIT)[np.searchsorted(moves, starts)]
    lengths = np.minimum(following, lasts[where] + 1) - starts
    long = np.flatnonzero(lengths >= limit)
    return int(starts[long[0]]) if len(long) else -1


def _beats(first: Ints, counts: Ints, interval: int) -> Ints:
    """The cycles of beats, `interval` cycles apart from `first` on."""
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(first, counts) + offsets * interval)

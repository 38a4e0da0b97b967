"""The state of a run, in arrays for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.hw.isa.columns import ProgramTable
from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.cycle.pipeline_state import UopMemory

Ints = npt.NDArray[np.int64]

UNITS = len(Unit)
QUEUES = len(TokenQueue)
LONGEST_WAIT = 1 << 61

# The state, indexed by these constants.
DISPATCHED = 0
"""Instructions whose dispatch is known."""
HALF = 1
"""Beats of the next instruction whose use is known (of a bus narrower than an instruction)."""
NEXT = 2
"""[unit] Position, in its unit's stream, of the first instruction whose start is not known."""
READY_AT = NEXT + UNITS
"""[unit] The first cycle in which a unit can start an instruction."""
LOOPS_AT = READY_AT + UNITS
"""The first cycle in which compute can start a GEMM or ALU."""
ENDED = LOOPS_AT + 1
"""Instructions whose end is known."""
LAST = ENDED + 1
"""The last cycle in which one of them ends."""
POPPED = LAST + 1
"""[queue] Tokens popped."""
PUSHED = POPPED + QUEUES + 1
"""[queue] Tokens pushed."""
FETCHES = PUSHED + QUEUES + 1
"""Instructions that entered check."""
WAKE = FETCHES + 1
"""The parts whose inputs have changed, a bit each: the units, then the two below."""
LIMIT = WAKE + 1
"""A cycle: a run that has not ended by then need not be computed to its end."""
WATCH = LIMIT + 1
"""What is looked for, a bit each: `WATCH_BUS`, `WATCH_INDICES`; and `WATCH_SILENCE`, for which the
bus's log is kept."""
FAULT_CYCLE = WATCH + 1
"""The cycle of the first fault, or `LONGEST_WAIT`."""
FAULT_SOURCE = FAULT_CYCLE + 1
"""Its source, of several in one cycle the one that counts; see `sim.cycle.faults`."""
FAULT_CODE = FAULT_SOURCE + 1
FAULT_AT = FAULT_CODE + 1
"""Its instruction, or -1."""
SHIFT_AT = FAULT_AT + 1
"""The instruction whose shift is refused, or -1; then the number of its micro-op."""
FIELDS = SHIFT_AT + 2
WATCH_BUS = 1
WATCH_INDICES = 2
WATCH_SILENCE = 4
WAKE_FETCH = 1 << UNITS
WAKE_DISPATCH = 2 << UNITS

# Times of each instruction.
MOVED = 0
"""It enters the first stage of check."""
FETCHED = 1
DISPATCH = 2
START = 3
END = 4
WROTE = 5
"""Of a LOAD: its writes, for the cycles in which it has nothing to write; else -1."""
TIMES = 6


class BusLog(NamedTuple):
    """What happens on the bus, kept where a bus that hangs is a fault: see `sim.cycle.silence`."""

    reads: Ints
    """[burst, field]"""
    writes: Ints
    """[order, field]"""
    beats: Ints
    """[beat]: the cycle in which memory takes a beat of write data."""
    counts: Ints
    """Bursts and orders."""


class Run(NamedTuple):
    """A program and everything that is known of its run."""

    table: ProgramTable
    units: Ints
    faults: Ints
    """What is wrong with each instruction by itself, or 0."""
    queues: Ints
    """For each instruction the two token queues that it pops and the two that it pushes."""
    stream: Ints
    first: Ints
    """Index in `stream` of each unit's first instruction; then its length."""
    ordinal: Ints
    """Each instruction's position in its unit's stream."""
    address: int
    element_bytes: Ints
    """Bytes of an element in DRAM, by memory id and coding."""
    dram_units: Ints
    """By memory id, the bytes that dram_base and x_stride count."""
    bases: Ints
    """By memory id."""
    words: Ints
    """The micro-ops that all LOADs load, one LOAD after the other."""
    word: Ints
    """For each instruction the index in `words` of its first."""
    refused: Ints
    """Addresses [start, end), a row each, that answer with an error; the last: beyond memory."""
    memory: UopMemory
    state: Ints
    times: Ints
    """[time, instruction]"""
    available: Ints
    """For each beat of the program, the cycle from which it can be used."""
    pushes: Ints
    """[queue, token]: the cycle of each push."""
    dma: Ints
    """[unit, field]: the DMAs of load and compute."""
    pipeline: Ints
    """The pipeline's state, and a copy for looking ahead."""
    detail: Ints
    """Details of the first fault and of the last that was found; see `sim.semantics.detail`."""
    silence: Ints
    """`Launch.silence`: the channels, the first cycle, and the cycle after the last."""
    bus: BusLog

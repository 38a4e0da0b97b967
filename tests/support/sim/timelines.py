"""A short run with hand-written events, for tests of timelines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import AluOp, Assembler, Program, TokenQueue, Unit, work_of
from tandem.sim.events import Event, EventKind, EventTable
from tandem.sim.result import Result
from tandem.sim.trace import Labels

FETCH, DISPATCH = EventKind.FETCH, EventKind.DISPATCH
START, END, POP, PUSH = EventKind.START, EventKind.END, EventKind.POP, EventKind.PUSH
TO_STORE = TokenQueue.COMPUTE_TO_STORE


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run and its program."""

    program: Program
    result: Result
    labels: Labels


def traced_run() -> TracedRun:
    """Two layers: a GEMM, an ALU and a STORE; a GEMM and a STORE that overlaps the first one.

    Fetch waits for memory before the STORE, and for space in compute's queue for FINISH.
    """
    asm = Assembler(HardwareConfig())
    asm.gemm(uops=(0, 2))
    asm.alu(AluOp.ADD, uops=(0, 1), imm=1, signals=Unit.STORE)
    asm.store(sram=0, dram=0, columns=1, waits_for=Unit.COMPUTE)
    asm.gemm(uops=(0, 3))
    asm.store(sram=0, dram=0, columns=1)
    asm.finish()
    program = asm.build()
    compute, store = Unit.COMPUTE, Unit.STORE
    events = (
        Event(1, compute, 0, FETCH),
        Event(1, compute, 0, DISPATCH),
        Event(2, compute, 1, FETCH),
        Event(2, compute, 1, DISPATCH),
        Event(2, compute, 0, START),
        Event(5, store, 2, FETCH),
        Event(5, store, 2, DISPATCH),
        Event(6, compute, 3, FETCH),
        Event(6, compute, 3, DISPATCH),
        Event(6, compute, 0, END),
        Event(6, compute, 1, START),
        Event(6, compute, 1, END),
        Event(6, compute, 1, PUSH, TO_STORE),
        Event(7, store, 4, FETCH),
        Event(7, store, 4, DISPATCH),
        Event(8, compute, 5, FETCH),
        Event(9, store, 2, POP, TO_STORE),
        Event(9, store, 2, START),
        Event(10, compute, 5, DISPATCH),
        Event(10, compute, 3, START),
        Event(11, store, 4, START),
        Event(14, compute, 3, END),
        Event(15, store, 2, END),
        Event(17, store, 4, END),
        Event(18, compute, 5, START),
        Event(19, compute, 5, END),
    )
    labels = Labels(
        ("first", "second"),
        (512, 700),
        np.array([0, 0, 0, 1, 1, -1], np.int32),
        ("multiply", "add y=3", "store", "multiply", "store", ""),
    )
    return TracedRun(
        program, Result("rtl", 20, None, work_of(program), EventTable.of(events), 0.1), labels
    )

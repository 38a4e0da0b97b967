"""Faults of a run: the first in time counts, and it is found as if there were no others.

What happens before a fault does not depend on it. So the run goes on as without faults, each source
reports the cycle in which it sees one, and the earliest remains. Faults of an instruction by itself
stop dispatch there.
"""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.hw.faults import Fault, FaultSource
from tandem.hw.isa.columns import InstructionFields
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.pipeline import execute, refused_index, refused_shift
from tandem.sim.cycle.pipeline_state import FIELDS as PIPELINE_FIELDS
from tandem.sim.cycle.state import (
    FAULT_AT,
    FAULT_CODE,
    FAULT_CYCLE,
    FAULT_SOURCE,
    LIMIT,
    SHIFT_AT,
    Ints,
    Run,
)
from tandem.sim.semantics.detail import END_BYTE, FIRST_BYTE
from tandem.sim.semantics.loops import micro_ops, micro_ops_in_bounds

BUS_READ = int(Fault.BUS_READ)
BUS_WRITE = int(Fault.BUS_WRITE)
SRAM_INDEX = int(Fault.SRAM_INDEX)
SHIFT = int(Fault.SHIFT)

# The sources, as numbers for compiled code.
OF_INDEX = int(FaultSource.INDEX)
OF_SHIFT = int(FaultSource.SHIFT)
OF_READ = int(FaultSource.READ)
OF_WRITE = int(FaultSource.WRITE)
OF_DISPATCH = int(FaultSource.DISPATCH)


@inlined
def report(state: Ints, cycle: int, source: int, fault: int, instruction: int) -> bool:
    """A fault is seen in `cycle`; returns whether it is the first until now."""
    first = state[FAULT_CYCLE]
    if cycle > first or (cycle == first and source <= state[FAULT_SOURCE]):
        return False
    state[FAULT_CYCLE] = cycle
    state[FAULT_SOURCE] = source
    state[FAULT_CODE] = fault
    state[FAULT_AT] = instruction
    return True


@inlined
def refused_beat(run: Run, address: int, beats: int, size: int) -> int:
    """The first of a burst's beats, of `size` bytes, that answers with an error; `beats` if none
    does."""
    bad = False
    for number in range(len(run.refused)):
        end = address + beats * size
        bad = bad or (address < run.refused[number, 1] and end > run.refused[number, 0])
    if not bad:
        return beats
    for beat in range(beats):
        for number in range(len(run.refused)):
            first = address + beat * size
            if first < run.refused[number, 1] and first + size > run.refused[number, 0]:
                return beat
    return beats


@compiled
def check_burst(
    machine: Machine, run: Run, beat: int, beats: int, cycle: int, interval: int, instruction: int
) -> None:
    """Report a burst with a beat that is refused.

    A read (with an `interval`) tells in the beat's cycle; the first arrives in `cycle`. A write
    tells in `cycle`, when its order ends.
    """
    size = 1 << machine.beat_shift
    bad = refused_beat(run, beat * size, beats, size)
    if bad == beats:
        return
    source, fault = (OF_READ, BUS_READ) if interval else (OF_WRITE, BUS_WRITE)
    if report(run.state, cycle + bad * interval, source, fault, instruction):
        run.detail[0, FIRST_BYTE] = (beat + bad) * size
        run.detail[0, END_BYTE] = (beat + bad + 1) * size


@compiled
def check_micro_ops(
    machine: Machine, run: Run, row: InstructionFields, instruction: int, start: int
) -> None:
    """Report the first micro-op of a GEMM or ALU with an index out of bounds, and the micro-op
    whose shift the functional engine refused."""
    state = run.state
    number = micro_ops_in_bounds(run.memory, row, run.detail[1])
    if number < micro_ops(row):
        _look_ahead(machine, run, row, start, number)
        cycle = refused_index(run.pipeline[1])
        if report(state, cycle, OF_INDEX, SRAM_INDEX, instruction):
            for field in range(FIRST_BYTE):
                run.detail[0, field] = run.detail[1, field]
    if state[SHIFT_AT] == instruction:
        _look_ahead(machine, run, row, start, state[SHIFT_AT + 1])
        report(state, refused_shift(machine, run.pipeline[1]), OF_SHIFT, SHIFT, instruction)


@inlined
def _look_ahead(
    machine: Machine, run: Run, row: InstructionFields, start: int, number: int
) -> None:
    """Leave the state after micro-op `number` in the copy of the pipeline."""
    for field in range(PIPELINE_FIELDS):
        run.pipeline[1, field] = run.pipeline[0, field]
    execute(machine, run.memory, run.pipeline[1], row, start, number + 1, run.state[LIMIT])

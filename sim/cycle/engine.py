"""The `cycle` engine: results by the shared semantics, time by the timing rules."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from hw.config import HardwareConfig
from hw.isa import Program
from hw.memory_model import DEFAULT_MEMORY, MemoryModel
from sim.cycle.counters import unit_cycles
from sim.cycle.events import events_of
from sim.cycle.machine import make_machine
from sim.cycle.micro_op_sources import check_micro_op_sources
from sim.cycle.prepare import make_run
from sim.cycle.reads import make_reads
from sim.cycle.run import make_runner
from sim.cycle.stores import make_stores
from sim.engine import Bytes, Launch
from sim.errors import CycleLimitError, EngineError
from sim.functional.engine import FunctionalEngine
from sim.result import Result

DONE_CYCLES = 3
"""Cycles of a run after the cycle of its last end, that cycle included (rule 9)."""


class CycleEngine:
    """The machine's time, exactly that of the RTL, computed from event to event.

    Results come from the functional engine; see `sim.engine.Engine`.
    """

    has_time = True

    def __init__(self, config: HardwareConfig, memory_model: MemoryModel = DEFAULT_MEMORY) -> None:
        self.config = config
        self.memory_model = memory_model
        self._values = FunctionalEngine(config, memory_model)
        self._machine = make_machine(config, memory_model)

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        return "cycle"

    def close(self) -> None:
        """Do nothing: the engine has no resources to free."""

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program`; see `sim.engine.Engine.launch`."""
        if how.stalls is not None:
            raise EngineError("the cycle engine has no random stalls: rtl and pysim have them")
        if how.waveform is not None:
            raise EngineError("the cycle engine has no waveform: it has no bus signals")
        started = perf_counter()
        columns = program.columns()
        check_micro_op_sources(self.config, columns, how.bases)
        before, uops = memory.copy(), self._values.micro_ops()
        values = self._values.launch(program, memory, replace(how, events=False))
        state = make_run(self.config, columns, how.address, how.bases, before, uops)
        reads, stores = make_reads(self._machine), make_stores(self._machine)
        last = make_runner()(self._machine, state, reads, stores)
        if last < 0:
            raise EngineError("the run has ended and its time has not: please report it")
        cycles = last + DONE_CYCLES
        if how.max_cycles is not None and cycles > how.max_cycles:
            raise CycleLimitError(how.max_cycles, f"still running after {how.max_cycles} cycles")
        return Result(
            engine=self.name,
            cycles=cycles,
            units=unit_cycles(state, stores),
            work=values.work,
            events=events_of(state) if how.events else (),
            seconds=perf_counter() - started,
        )

"""The `cycle` engine: results by the shared semantics, time by the timing rules."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from tandem.base.jit import prepare
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import Finish, Program, work_of_columns
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle.bus_log import find_silence
from tandem.sim.cycle.counters import unit_cycles
from tandem.sim.cycle.events import events_of
from tandem.sim.cycle.machine import make_machine
from tandem.sim.cycle.micro_op_sources import check_micro_op_sources, check_program
from tandem.sim.cycle.outcome import error_of, outcome_of
from tandem.sim.cycle.prepare import Prepared, make_run
from tandem.sim.cycle.prepare import prepare as prepare_program
from tandem.sim.cycle.reads import make_reads
from tandem.sim.cycle.run import run_program
from tandem.sim.cycle.shifts import check_shifts
from tandem.sim.cycle.state import LIMIT, SHIFT_AT, WATCH, WATCH_BUS, WATCH_INDICES, Run
from tandem.sim.cycle.stores import BEATS, Stores, make_stores
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import BusError, CycleLimitError, EngineError
from tandem.sim.events import EventTable
from tandem.sim.functional.engine import FunctionalEngine
from tandem.sim.memory import check_beats
from tandem.sim.preflight import preflight
from tandem.sim.result import Result
from tandem.sim.semantics.report import bus_timeout_error


class CycleEngine:
    """The machine's time, exactly that of the RTL, computed from event to event.

    Results come from the functional engine, time from the program; see `sim.engine.Engine`. Where a
    run ends with an error, so does the RTL's, with the same fault of the same instruction, or with
    the same limit, but for these:

    * a LOAD or STORE whose address exceeds the machine's address bits is a bus error here, and
      reaches another address there;
    * an SHR by an accumulator that is out of range, behind a bus error or an overflow of tokens in
      the program but ahead of it in time, is not seen;
    * of a run that a fault stops, the RTL reports the limit where the transfers that are under way
      last until 16 cycles after it.

    After an error memory holds what the functional engine leaves: all effects up to a fault, in the
    order of the program. Programs that store to their own instructions, or load micro-ops
    that they have stored, are refused.
    """

    has_time = True

    def __init__(self, config: HardwareConfig, memory_model: MemoryModel = DEFAULT_MEMORY) -> None:
        self.config = config
        self.memory_model = memory_model
        self._values = FunctionalEngine(config, memory_model)
        self._machine = make_machine(config, memory_model)
        self._compiled = False
        self._prepared: tuple[Program, Prepared] | None = None

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        return "cycle"

    def close(self) -> None:
        """Free the simulated machine; the next launch finds a new one."""
        self._values = FunctionalEngine(self.config, self.memory_model)

    def prepare(self, data: bool = True) -> None:
        """Compile the model of time, and with `data` the functional engine; see
        `Engine.prepare`."""
        self._values.prepare(data)
        if self._compiled:
            return
        machine = self._machine
        example = prepare_program(
            self.config, Program.from_instructions(self.config, [Finish()]).columns()
        )
        uops = self._values.micro_ops()
        run = make_run(example, 0, (0,) * BASE_REGISTERS, np.zeros(0, np.uint8), uops, ())
        prepare(run_program, machine, run, make_reads(machine), make_stores(machine))
        self._compiled = True

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program`; see `sim.engine.Engine.launch`."""
        if how.stalls is not None:
            raise EngineError("the cycle engine has no random stalls: rtl and pysim have them")
        if how.waveform is not None:
            raise EngineError(
                "the cycle engine has no waveform, as it has no bus signals: rtl and pysim have"
            )
        preflight(self.config, program, memory, replace(how, data=True))
        check_beats(self.config, memory)
        self.prepare(how.data)
        started = perf_counter()
        prepared = self._prepare(program)
        accesses = prepared.accesses(how.bases)
        check_micro_op_sources(prepared.columns, accesses)
        check_program(accesses, how.address, len(program.data), prepared.dispatched)
        run = self._make_run(prepared, memory, how)
        failure = None
        if how.data:
            failure = self._compute_values(program, memory, how)
        else:
            check_shifts(prepared, run, how.bases, memory)
        cycles, stores = self._compute_time(program, prepared, run, failure, how, len(memory))
        return Result(
            engine=self.name,
            cycles=cycles,
            units=unit_cycles(self._machine, run, stores),
            work=work_of_columns(self.config, prepared.columns),
            events=events_of(run) if how.events else EventTable.of(()),
            seconds=perf_counter() - started,
        )

    def _prepare(self, program: Program) -> Prepared:
        """The tables of `program`, kept for its next launch."""
        if self._prepared is None or self._prepared[0] is not program:
            self._prepared = program, prepare_program(self.config, program.columns())
        return self._prepared[1]

    def _make_run(self, prepared: Prepared, memory: npt.NDArray[np.uint8], how: Launch) -> Run:
        uops = self._values.micro_ops()
        return make_run(
            *(prepared, how.address, how.bases, memory, uops, how.bus_errors, how.silence),
            log=how.bus_timeout > 0,
        )

    def _compute_values(self, program: Program, memory: Bytes, how: Launch) -> Exception | None:
        """Do what the program does to memory; returns the error that ended it, if any."""
        quick = replace(how, events=False, validate=False)
        try:
            self._values.launch(program, memory, quick)
        except (ProgramError, BusError, CycleLimitError) as error:
            return error
        return None

    def _compute_time(
        self,
        program: Program,
        prepared: Prepared,
        run: Run,
        failure: Exception | None,
        how: Launch,
        memory_bytes: int,
    ) -> tuple[int, Stores]:
        """Fill `run` with the times of all events; returns the cycles, and the store unit's state.

        `failure` is what ended the run of the functional engine.
        """
        if how.max_cycles is not None:
            run.state[LIMIT] = how.max_cycles
        far = how.bus_errors or prepared.accesses(how.bases).end.max(initial=0) > memory_bytes
        run.state[WATCH] |= WATCH_BUS if far else 0
        if failure is not None or not how.data:
            run.state[WATCH] |= WATCH_INDICES
        if isinstance(failure, ProgramError) and failure.fault is Fault.SHIFT:
            if failure.micro_op is not None:
                run.state[SHIFT_AT] = failure.instruction or 0
                run.state[SHIFT_AT + 1] = failure.micro_op
        reads, stores = make_reads(self._machine), make_stores(self._machine)
        if len(run.units):
            run_program(self._machine, run, reads, stores)
        place = -1
        if how.bus_timeout:
            beats, interval = int(stores.state[BEATS]), self._machine.interval
            limit, size = how.bus_timeout, self.config.bus_bytes
            place = find_silence(run, beats, limit, interval, size)
        outcome = outcome_of(prepared, run, reads)
        if how.max_cycles is not None and outcome.cycles > how.max_cycles:
            raise CycleLimitError(how.max_cycles, f"still running after {how.max_cycles} cycles")
        if outcome.fault is Fault.BUS_TIMEOUT:
            raise bus_timeout_error(program, outcome.instruction, place, how.bus_timeout)
        if outcome.fault is not Fault.NONE:
            raise error_of(prepared, run, outcome, failure, memory_bytes)
        if failure is not None:
            raise failure
        return outcome.cycles, stores

"""The functional engine: preliminary checks, slices of compiled code, errors and results."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import numpy.typing as npt

from tandem.base.jit import prepare
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import Columns, Finish, Program, TokenQueue, Unit, work_of_columns
from tandem.hw.isa.columns import InstructionFields
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import BusError, CycleLimitError, EngineError
from tandem.sim.events import EventTable
from tandem.sim.functional.events import events_of
from tandem.sim.functional.plan import Plan, make_plan
from tandem.sim.functional.schedule import DONE, RUNNING, run_slice
from tandem.sim.functional.state import (
    FAULTY,
    ISSUED,
    MICRO_OPS,
    STARTED,
    TOKENS,
    State,
    make_state,
)
from tandem.sim.preflight import preflight
from tandem.sim.result import Result
from tandem.sim.semantics.chip import Chip, make_chip
from tandem.sim.semantics.custom import CustomCode, make_custom_code
from tandem.sim.semantics.detail import Detail, make_detail
from tandem.sim.semantics.dram import Dram, make_dram
from tandem.sim.semantics.report import program_error
from tandem.sim.semantics.requantiser import Requantiser, make_requantiser
from tandem.sim.slices import next_slice

SLICE_SECONDS = 0.05
"""Target duration of a slice of compiled code; between slices Python handles Ctrl-C."""
FIRST_SLICE_MACS = 1 << 25
"""Multiply-accumulates of the first slice: some milliseconds, and well under a second on a slow
machine. Later slices adapt."""
NO_LIMIT = 1 << 62

_RUN_TIME_FAULTS = (Fault.SRAM_INDEX, Fault.SHIFT, Fault.BUS_READ, Fault.BUS_WRITE)


class FunctionalEngine:
    """A compiled interpreter of programs, without cycles or a bus; see `sim.engine.Engine`.

    `memory_model` is part of the interface and has no effect. After a fault, or when a run is
    aborted, on-chip memories and DRAM hold the effects up to then.
    """

    has_time = False

    def __init__(self, config: HardwareConfig, memory_model: MemoryModel = DEFAULT_MEMORY) -> None:
        self.config = config
        self.memory_model = memory_model
        self._chip = make_chip(config)
        self._requantiser = make_requantiser(config, self._chip)
        self._custom = make_custom_code(config)
        self._prepared = False

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        return "functional"

    def micro_ops(self) -> npt.NDArray[np.int64]:
        """A copy of the micro-op memory."""
        return self._chip.uop.astype(np.int64)

    def close(self) -> None:
        """Do nothing: the engine has no resources to free."""

    def prepare(self, data: bool = True) -> None:
        """Compile the interpreter, unless it is on disk; see `Engine.prepare`."""
        if self._prepared or not data:
            return
        example = Program.from_instructions(self.config, [Finish()]).columns()
        dram = make_dram(np.zeros(0, np.uint8), (0,) * BASE_REGISTERS, (), self.config)
        run = _Run(make_plan(self.config, example), dram)
        prepare(run_slice, *self._arguments(run), 0, 0)
        self._prepared = True

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program`; see `sim.engine.Engine.launch`."""
        for option, value in (("waveform", how.waveform), ("stalls", how.stalls)):
            if value is not None:
                raise EngineError(f"the functional engine has no {option}: it has no bus signals")
        preflight(self.config, program, memory, how)
        _check_fetch(program, how)
        columns = program.columns()
        if self._requantiser is not None:
            self._requantiser.mode[:] = 0
        dram = make_dram(memory, how.bases, how.bus_errors, self.config)
        run = _Run(make_plan(self.config, columns), dram)
        self.prepare()
        started = perf_counter()
        status = self._drive(run, how)
        seconds = perf_counter() - started
        if status != DONE:
            raise self._error(run, columns, Fault(status))
        return Result(
            engine=self.name,
            cycles=None,
            units=None,
            work=work_of_columns(self.config, columns),
            events=EventTable.of(events_of(run.plan, run.log) if how.events else ()),
            seconds=seconds,
        )

    def _drive(self, run: _Run, how: Launch) -> int:
        """Run slices to the end of the program, or to a fault; returns DONE or the fault's code."""
        limit = NO_LIMIT if how.max_cycles is None else min(how.max_cycles, NO_LIMIT)
        budget = max(1, FIRST_SLICE_MACS // self.config.macs)
        while True:
            before = perf_counter()
            status = run_slice(*self._arguments(run), budget, limit)
            done = int(run.state[MICRO_OPS])
            if done > limit:
                raise CycleLimitError(
                    limit, f"still running after {limit} cycles: {done} micro-ops were done"
                )
            if status != RUNNING:
                return status
            if how.progress is not None:
                how.progress(done)
            budget = next_slice(budget, perf_counter() - before, SLICE_SECONDS)

    def _arguments(
        self, run: _Run
    ) -> tuple[
        Plan, Chip, Requantiser | None, CustomCode | None, Dram, State, InstructionFields, Detail
    ]:
        """The arguments of `run_slice` but for the last two."""
        chip = self._chip, self._requantiser, self._custom
        return run.plan, *chip, run.dram, run.state, run.log, run.detail

    def _error(self, run: _Run, columns: Columns, fault: Fault) -> Exception:
        position = int(run.state[FAULTY])
        match fault:
            case Fault.DEADLOCK:
                return DeadlockError(tuple(_wait(run, unit) for unit in Unit))
            case Fault.TOKENS_LEFT:
                left = ", ".join(
                    f"{int(run.state[TOKENS + queue])} in {queue}"
                    for queue in TokenQueue
                    if run.state[TOKENS + queue]
                )
                return ProgramError(fault, None, f"tokens are left at the end: {left}")
        # SHIFT is checked statically for an immediate, at run time for a tensor operand.
        at_run_time = fault in _RUN_TIME_FAULTS and not run.plan.faults[position]
        detail = run.detail if at_run_time else None
        return program_error(self.config, columns, position, fault, detail, len(run.dram.bytes))


class _Run:
    """The state of one run, without the on-chip memories."""

    def __init__(self, plan: Plan, dram: Dram) -> None:
        self.plan = plan
        self.dram = dram
        self.state: State = make_state()
        self.log: InstructionFields = np.zeros(len(plan.units), dtype=np.int64)
        self.detail: Detail = make_detail()


def _check_fetch(program: Program, how: Launch) -> None:
    """Refuse a program that overlaps an address range of `how.bus_errors`."""
    end = how.address + len(program.data)
    for first, last in how.bus_errors:
        if max(first, how.address) < min(last, end):
            raise BusError(
                None,
                write=False,
                message=f"fetch of the program at {how.address:#x}..{end:#x} (end excluded): "
                f"memory answers with an error in {first:#x}..{last:#x} [{Fault.BUS_READ.name}]",
            )


def _wait(run: _Run, unit: Unit) -> UnitWait:
    """The tokens that `unit` waits for when no instruction can start."""
    started = int(run.state[STARTED + unit])
    if started == run.state[ISSUED + unit]:
        return UnitWait(unit, None, ())
    instruction = int(run.plan.stream[run.plan.first[unit] + started])
    missing = {
        TokenQueue(queue)
        for queue in run.plan.queues[instruction, :2].tolist()
        if not run.state[TOKENS + queue]
    }
    return UnitWait(unit, instruction, tuple(sorted(missing)))

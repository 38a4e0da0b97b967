"""The driver of the RTL: writes registers, waits for the interrupt, reads registers."""

from __future__ import annotations

from time import perf_counter

from tandem.hw.axi import ID_BITS
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program, Unit, work_of
from tandem.hw.registers import CONTROL, Control, Interrupt, State, Status, register_map
from tandem.hw.topology import BASED
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import CycleLimitError, EngineError
from tandem.sim.events import EventTable
from tandem.sim.memory import check_beats
from tandem.sim.preflight import preflight
from tandem.sim.result import Result, UnitCycles
from tandem.sim.rtl.bench import ACCESS_CYCLES, Bench, BenchSetup
from tandem.sim.rtl.events import decode_events
from tandem.sim.rtl.outcome import failure
from tandem.sim.slices import next_slice

_REGISTERS = {register.name: register for register in register_map()}
_BOTH_CAUSES = Interrupt.DONE | Interrupt.ERROR
_SLICE_SECONDS = 0.1
"""Target duration of a slice of cycles; between slices Python handles Ctrl-C and progress."""
_FIRST_SLICE = 256
_LAG = 16
"""Upper bound of the cycles between the end of a program and its interrupt."""


class Driver:
    """Runs programs on one bench. `name` is the engine's name in results."""

    def __init__(self, name: str, config: HardwareConfig, bench: Bench) -> None:
        self._name = name
        self._config = config
        self._bench = bench
        self._usable = True
        self._fenced = False
        self._bus_timeout = 0

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program`; see `sim.engine.Engine.launch`."""
        if not self._usable:
            raise EngineError(f"this {self._name} engine was lost to an earlier error")
        self._check(program, memory, how)
        self._bench.attach(BenchSetup.of(memory, how))
        try:
            return self._launch(program, memory, how)
        finally:
            self._bench.detach()

    def _check(self, program: Program, memory: Bytes, how: Launch) -> None:
        preflight(self._config, program, memory, how)
        check_beats(self._config, memory)

    def _launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        started = perf_counter()
        try:
            self._start(program, how)
            self._check_fence()
            self._wait(how)
        except BaseException:
            # On Ctrl-C too: the machine must not access memory after `detach`.
            self._stop()
            raise
        seconds = perf_counter() - started
        status = Status(self.read("status"))
        cycles = self.read("cycles")
        self.write("irq_status", _BOTH_CAUSES)
        if how.max_cycles is not None and cycles > how.max_cycles:
            raise _too_long(how.max_cycles)
        self._fenced = Status.FENCED in status
        if Status.DONE not in status:
            raise failure(program, len(memory), how.bus_timeout, self.read)
        log = self._bench.events()
        return Result(
            engine=self._name,
            cycles=cycles,
            units={unit: self._unit_cycles(unit) for unit in Unit},
            work=work_of(program),
            events=decode_events(program, log) if how.events else EventTable.of(()),
            seconds=seconds,
        )

    def _start(self, program: Program, how: Launch) -> None:
        self.write("instruction_address", how.address)
        self.write("instruction_count", len(program))
        for memory, base in zip(BASED, how.bases, strict=True):
            if memory in self._config.memories:
                self.write(f"base_{memory.name.lower()}", base)
        if how.bus_timeout != self._bus_timeout:
            self.write("bus_timeout", how.bus_timeout)
            self._bus_timeout = how.bus_timeout
        self.write("irq_enable", _BOTH_CAUSES)
        self._bench.write(CONTROL, Control.LAUNCH)

    def _check_fence(self) -> None:
        """A machine that has given up its bus once for each ID refuses launches."""
        if self._fenced and Status.FENCED in Status(self.read("status")):
            self._usable = False
            raise EngineError(
                f"this {self._name} engine gave up bus transactions {1 << ID_BITS} times, once for "
                "each ID: what is late cannot be told from what is new any more, before ARESETn"
            )
        self._fenced = False

    def _wait(self, how: Launch) -> None:
        """Run until the interrupt, in slices, between which Python handles Ctrl-C."""
        budget = _FIRST_SLICE
        while True:
            before = perf_counter()
            limit = how.max_cycles
            left = budget if limit is None else min(budget, limit + _LAG - self._bench.cycles)
            if left <= 0:
                raise _too_long(limit or 0)
            if self._bench.run(left):
                return
            if how.progress is not None:
                how.progress(self._bench.cycles)
            seconds = perf_counter() - before
            if left == budget:
                budget = next_slice(budget, seconds, _SLICE_SECONDS)

    def _stop(self) -> None:
        """Reset the machine and wait until it is idle, with its memory still connected.

        A second reset gives up what memory owes.
        """
        try:
            for _ in range(2):
                self._bench.write(CONTROL, Control.SOFT_RESET)
                for _ in range(ACCESS_CYCLES):
                    status = Status(self.read("status"))
                    if not status & (Status.RUNNING | Status.DRAINING):
                        self._fenced = Status.FENCED in status
                        self.write("irq_status", _BOTH_CAUSES)
                        return
        except EngineError:
            pass
        self._usable = False

    def _unit_cycles(self, unit: Unit) -> UnitCycles:
        name = unit.name.lower()
        busy, token, memory = (self.read(f"{name}_{state.value}") for state in State)
        return UnitCycles(busy=busy, token=token, memory=memory)

    def read(self, name: str) -> int:
        """The value of a 32-bit or 64-bit register."""
        register = _REGISTERS[name]
        return sum(
            self._bench.read(register.offset + shift // 8) << shift
            for shift in range(0, register.bits, 32)
        )

    def write(self, name: str, value: int) -> None:
        """Write a 32-bit or 64-bit register, low half first."""
        register = _REGISTERS[name]
        for shift in range(0, register.bits, 32):
            self._bench.write(register.offset + shift // 8, value >> shift & 0xFFFF_FFFF)


def _too_long(limit: int) -> CycleLimitError:
    return CycleLimitError(limit, f"still running after {limit} cycles")

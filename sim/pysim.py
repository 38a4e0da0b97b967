"""The `pysim` engine: the RTL on Amaranth's own simulator, at thousands of cycles a second."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from amaranth.hdl import Elaboratable, Value
from amaranth.sim import Simulator

from tandem.hw.config import HardwareConfig
from tandem.hw.events import RUNNING_BIT
from tandem.hw.isa import Program
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.hw.rtl.top import Accelerator
from tandem.sim.engine import Bytes, Launch, Silence
from tandem.sim.errors import EngineError
from tandem.sim.result import Result
from tandem.sim.rtl.bench import ACCESS_CYCLES, BenchSetup, EventLog, stall_threshold
from tandem.sim.rtl.bus import Memory, Pins, ReadBus, StallGenerator, WriteBus, silent
from tandem.sim.rtl.constants import Rule
from tandem.sim.rtl.launch import Driver
from tandem.sim.rtl.register_port import RegisterPort

_RUNNING = 1 << RUNNING_BIT
_PERIOD = 10e-9


class PysimEngine:
    """An engine on Amaranth's simulator; see `sim.engine.Engine`.

    Waveforms are `.vcd`, and only of the first launch: Amaranth records from time zero.

    `design`, if given, is simulated in place of the accelerator of `config`.
    """

    has_time = True

    def __init__(
        self,
        config: HardwareConfig,
        memory_model: MemoryModel = DEFAULT_MEMORY,
        *,
        design: Elaboratable | None = None,
    ) -> None:
        self.config = config
        self.memory_model = memory_model
        self._design = design
        self._driver: Driver | None = None

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        return "pysim"

    def prepare(self, data: bool = True) -> None:
        """Make the design, with data always."""
        if self._driver is None:
            design = self._design if self._design is not None else Accelerator(self.config)
            bench = SimulatorBench(design, self.memory_model, self.config.bus_bytes)
            self._driver = Driver(self.name, self.config, bench)

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program`; see `sim.engine.Engine.launch`."""
        if how.waveform is not None:
            if how.waveform.suffix != ".vcd":
                raise EngineError(
                    f"a {how.waveform.suffix} waveform was asked for: the pysim engine writes .vcd"
                )
            if self._driver is not None:
                raise EngineError("pysim can only write the waveform of an engine's first launch")
        self.prepare()
        assert self._driver is not None
        return self._driver.launch(program, memory, how)

    def close(self) -> None:
        """Discard the simulated machine; the next launch creates a new one."""
        self._driver = None


class SimulatorBench:
    """A design on Amaranth's simulator; see `sim.rtl.bench.Bench`."""

    def __init__(self, design: Any, model: MemoryModel, beat_bytes: int) -> None:
        self._signals = _signals(design)
        self._reads = ReadBus(model, beat_bytes)
        self._writes = WriteBus(model, beat_bytes)
        self._registers = RegisterPort()
        self._memory = _no_memory()
        self._stalls = StallGenerator()
        self._silence: Silence | None = None
        self._broken: Rule | None = None
        self._log: list[tuple[int, int]] = []
        self._wants_events = False
        self._interrupt = False
        self._now = self._armed = 0
        self._origin: int | None = None
        self._waveform = ExitStack()
        self._simulator = Simulator(design)
        self._simulator.add_clock(_PERIOD)
        self._started = False

    def attach(self, setup: BenchSetup) -> None:
        threshold = stall_threshold(setup.stalls)
        seed = setup.stalls.seed if setup.stalls is not None else 0
        self._memory = Memory(setup.memory, setup.refused)
        self._stalls = StallGenerator(threshold, seed)
        self._silence = setup.silence
        self._wants_events = setup.events
        self._armed, self._origin, self._log = self._now, None, []
        self._reads.begin_launch()
        self._writes.begin_launch()
        if setup.waveform is not None:
            self._open_waveform(setup)

    def _open_waveform(self, setup: BenchSetup) -> None:
        try:
            file = self._waveform.enter_context(open(str(setup.waveform), "w", encoding="utf-8"))
        except OSError as error:
            raise EngineError(f"the waveform {setup.waveform} cannot be written: {error}") from None
        self._waveform.enter_context(self._simulator.write_vcd(file))

    def detach(self) -> None:
        self._waveform.close()
        self._memory, self._stalls = _no_memory(), StallGenerator()
        if self._silence is not None and self._silence.lost:
            self._reads.forget()
            self._writes.forget()
        self._silence = None

    def write(self, offset: int, value: int) -> None:
        self._registers.begin_write(offset, value)
        self._access("write", offset)

    def read(self, offset: int) -> int:
        self._registers.begin_read(offset)
        self._access("read", offset)
        return self._registers.value

    def run(self, cycles: int) -> bool:
        end = self._now + cycles
        while self._now < end and not self._interrupt:
            self._cycle()
        return self._interrupt

    @property
    def cycles(self) -> int:
        return 0 if self._origin is None else self._now - self._origin

    def events(self) -> EventLog:
        return np.array(self._log, dtype=np.uint64).reshape(-1, 2)

    def _access(self, verb: str, offset: int) -> None:
        for _ in range(ACCESS_CYCLES):
            if not self._registers.active:
                break
            self._cycle()
        else:
            raise EngineError(f"{verb} of register {offset:#05x}: the design did not answer")
        if self._registers.response:
            raise EngineError(
                f"{verb} of register {offset:#05x}: the design answered with response "
                f"{self._registers.response}"
            )

    def _cycle(self) -> None:
        """Advance to the end of the current cycle."""
        if not self._started:
            # On first use: Python warns of a coroutine that is discarded before it runs.
            self._simulator.add_testbench(self._testbench, background=True)
            self._started = True
        before = self._now
        while self._now == before:
            self._simulator.advance()
        if self._broken is not None:
            raise EngineError(f"protocol violation on m_axi: {self._broken.value}")

    async def _testbench(self, context: Any) -> None:
        values: dict[str, int] = {}

        def put(name: str, value: int) -> None:
            # Setting an input re-evaluates the design, so unchanged values are skipped.
            if values.get(name) != value:
                values[name] = value
                context.set(self._signals[name], int(value))

        pins = Pins(get=_reader(context, self._signals), set=put)
        while True:
            stalled = held = self._stalls.held(self._now - self._armed)
            if self._origin is not None:
                held |= silent(self._silence, self._now + 1 - self._origin)
            self._reads.drive(pins, self._memory, self._now, held)
            self._writes.drive(pins, self._now, held)
            self._registers.drive(pins, stalled)
            self._registers.sample(pins)
            broken = self._reads.sample(pins, self._now)
            broken = self._writes.sample(pins, self._memory, self._now) or broken
            self._broken = self._broken or broken
            self._note(pins.get("events"))
            await context.tick()
            self._interrupt = bool(pins.get("irq"))
            self._now += 1

    def _note(self, events: int) -> None:
        if self._origin is None:
            if not events & _RUNNING:
                return
            self._origin = self._now
        bits = events & (_RUNNING - 1)
        if bits and self._wants_events:
            self._log.append((self._now - self._origin, bits))


def _signals(design: Any) -> dict[str, Value]:
    """The design's ports by their names in Verilog."""
    found: dict[str, Value] = {}
    for path, _, value in design.signature.flatten(design):
        found["_".join(str(part) for part in path)] = Value.cast(value)
    return found


def _reader(context: Any, signals: dict[str, Value]) -> Callable[[str], int]:
    def get(name: str) -> int:
        return int(context.get(signals[name]))

    return get


def _no_memory() -> Memory:
    return Memory(np.empty(0, dtype=np.uint8), ())

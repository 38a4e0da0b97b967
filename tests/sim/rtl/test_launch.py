"""How launches drive registers: a bench that answers by itself in the place of a design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import Finish, Program, Unit
from tandem.hw.registers import CONTROL, Control, Interrupt, Status, register_map
from tandem.hw.topology import BASED, MemoryId
from tandem.sim.engine import Launch, Stalls
from tandem.sim.errors import CycleLimitError, EngineError, MemoryImageError
from tandem.sim.result import UnitCycles
from tandem.sim.rtl import launch
from tandem.sim.rtl.bench import BenchSetup
from tandem.sim.rtl.launch import Driver

PYNQ = load_config("pynq")
PROGRAM = Program.from_instructions(PYNQ, [Finish()])
REGISTERS = {register.name: register for register in register_map()}
OFFSETS = {name: register.offset for name, register in REGISTERS.items()}


class Answering:
    """A bench: a launch takes some cycles, then it has a status, a fault, and counters."""

    def __init__(self, takes: int, status: Status = Status.DONE) -> None:
        self.takes = takes
        self.status = status
        self.cycles = 0
        self.words: dict[int, int] = {}
        self.controls: list[int] = []
        self.runs: list[int] = []
        self.setup: BenchSetup | None = None
        self.drains = 0
        self.detached = 0
        self.during: Callable[[], None] = lambda: None

    def attach(self, setup: BenchSetup) -> None:
        self.setup = setup
        self.cycles = 0
        self.runs = []

    def detach(self) -> None:
        self.detached += 1

    def write(self, offset: int, value: int) -> None:
        if offset == CONTROL:
            self.controls.append(value)
        else:
            self.words[offset] = value

    def read(self, offset: int) -> int:
        if offset == OFFSETS["status"]:
            if Control.SOFT_RESET in self.controls and self.drains:
                self.drains -= 1
                return int(Status.DRAINING)
            return int(self.status)
        if offset == OFFSETS["cycles"]:
            return self.cycles & 0xFFFFFFFF
        return self.words.get(offset, 0)

    def run(self, cycles: int) -> bool:
        self.runs.append(cycles)
        self.during()
        self.cycles = min(self.cycles + cycles, self.takes)
        return self.cycles == self.takes

    def events(self) -> NDArray[np.uint64]:
        return np.zeros((0, 2), np.uint64)


def launched(bench: Answering, driver: Driver | None = None, **options: Any) -> Any:
    memory = np.zeros(8192, np.uint8)
    own = driver or Driver("rtl", PYNQ, bench)
    return own.launch(PROGRAM, memory, Launch(address=4096, **options))


def test_a_launch() -> None:
    bench = Answering(5000)
    for at, unit in enumerate(("load", "compute", "store")):
        for place, state in enumerate(("busy", "token", "memory")):
            bench.words[OFFSETS[f"{unit}_{state}"]] = 10 * at + place
    bases = tuple(1024 * at for at in range(len(BASED)))
    stalls = Stalls(0.5, 3)
    found = launched(bench, bases=bases, stalls=stalls, bus_timeout=77)
    assert (found.engine, found.cycles) == ("rtl", 5000)
    assert found.units == {
        unit: UnitCycles(busy=10 * at, token=10 * at + 1, memory=10 * at + 2)
        for at, unit in enumerate(Unit)
    }
    # Of this run, not since the computer began.
    assert 0 < found.seconds < 60
    assert len(found.events) == 0
    assert bench.words[OFFSETS["instruction_address"]] == 4096
    assert bench.words[OFFSETS["instruction_count"]] == 1
    assert bench.words[OFFSETS["bus_timeout"]] == 77
    assert bench.words[OFFSETS["irq_enable"]] == Interrupt.DONE | Interrupt.ERROR
    assert bench.words[OFFSETS["irq_status"]] == Interrupt.DONE | Interrupt.ERROR
    for memory, base in zip(BASED, bases, strict=True):
        if memory is not MemoryId.PAR:
            assert bench.words[OFFSETS[f"base_{memory.name.lower()}"]] == base
    assert OFFSETS["base_par"] not in bench.words
    assert bench.controls == [Control.LAUNCH]
    assert bench.setup is not None
    assert bench.setup.stalls == stalls
    assert bench.detached == 1


def test_long_values_are_two_words() -> None:
    bench = Answering(1)
    driver = Driver("rtl", PYNQ, bench)
    name = next(name for name, each in REGISTERS.items() if each.bits == 64)
    driver.write(name, 0x1122334455667788)
    offset = OFFSETS[name]
    assert (bench.words[offset], bench.words[offset + 4]) == (0x55667788, 0x11223344)
    assert driver.read(name) == 0x1122334455667788


def test_the_bus_timeout_is_written_when_it_changes() -> None:
    bench = Answering(9)
    driver = Driver("rtl", PYNQ, bench)
    launched(bench, driver)
    assert OFFSETS["bus_timeout"] not in bench.words
    launched(bench, driver, bus_timeout=5)
    del bench.words[OFFSETS["bus_timeout"]]
    launched(bench, driver, bus_timeout=5)
    assert OFFSETS["bus_timeout"] not in bench.words
    launched(bench, driver)
    assert bench.words[OFFSETS["bus_timeout"]] == 0


def test_progress_between_slices() -> None:
    bench, told = Answering(600), list[int]()
    launched(bench, progress=told.append)
    assert bench.runs[0] == 256
    # Slices of a bench that is this fast double; the last one tells nothing.
    assert bench.runs == [256, 512]
    assert told == [256]


@pytest.mark.parametrize(("limit", "ends"), [(300, True), (299, False), (250, False)])
def test_limits_of_cycles(limit: int, ends: bool) -> None:
    bench = Answering(300)
    if ends:
        assert launched(bench, max_cycles=limit).cycles == 300
        return
    with pytest.raises(CycleLimitError, match=f"^still running after {limit} cycles$") as raised:
        launched(bench, max_cycles=limit)
    assert raised.value.max_cycles == limit
    # The program's end may be seen some cycles later, and no more.
    assert sum(bench.runs) <= limit + 16
    assert bench.detached == 1


def test_a_launch_that_is_stopped_resets_the_machine() -> None:
    bench = Answering(1000)
    driver = Driver("rtl", PYNQ, bench)
    bench.drains = 3
    with pytest.raises(CycleLimitError):
        launched(bench, driver, max_cycles=100)
    assert bench.controls == [Control.LAUNCH, Control.SOFT_RESET]
    assert bench.drains == 0
    # It is as good as before.
    bench.takes = 50
    assert launched(bench, driver).cycles == 50


def test_a_machine_that_does_not_drain_is_reset_again_and_lost_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "ACCESS_CYCLES", 100)
    bench = Answering(1000)
    driver = Driver("rtl", PYNQ, bench)
    bench.drains = 150
    with pytest.raises(CycleLimitError):
        launched(bench, driver, max_cycles=100)
    assert bench.controls == [Control.LAUNCH, Control.SOFT_RESET, Control.SOFT_RESET]
    assert bench.drains == 0
    bench = Answering(1000)
    driver = Driver("rtl", PYNQ, bench)
    bench.drains = 300
    with pytest.raises(CycleLimitError):
        launched(bench, driver, max_cycles=100)
    assert bench.drains == 100
    with pytest.raises(EngineError, match=r"^this rtl engine was lost to an earlier error$"):
        launched(bench, driver)


def test_interrupts_of_people_reset_the_machine_too() -> None:
    bench = Answering(1000)

    def interrupt() -> None:
        raise KeyboardInterrupt

    bench.during = interrupt
    with pytest.raises(KeyboardInterrupt):
        launched(bench)
    assert bench.controls == [Control.LAUNCH, Control.SOFT_RESET]
    assert bench.detached == 1


def test_faults() -> None:
    bench = Answering(9, Status.ERROR)
    bench.words[OFFSETS["error_code"]] = Fault.OPCODE
    bench.words[OFFSETS["error_instruction"]] = 0
    with pytest.raises(ProgramError) as raised:
        launched(bench, validate=False)
    assert (raised.value.fault, raised.value.instruction) == (Fault.OPCODE, 0)
    assert bench.controls == [Control.LAUNCH]
    assert bench.words[OFFSETS["irq_status"]] == Interrupt.DONE | Interrupt.ERROR


def test_a_machine_that_gave_up_its_bus_refuses_launches() -> None:
    bench = Answering(9, Status.DONE | Status.FENCED)
    driver = Driver("rtl", PYNQ, bench)
    launched(bench, driver)
    with pytest.raises(EngineError, match=r"gave up bus transactions \d+ times, once for each ID"):
        launched(bench, driver)
    # It stays so.
    bench.status = Status.DONE
    with pytest.raises(EngineError, match=r"^this rtl engine was lost to an earlier error$"):
        launched(bench, driver)
    # One whose fence is gone runs.
    bench = Answering(9, Status.DONE | Status.FENCED)
    driver = Driver("rtl", PYNQ, bench)
    launched(bench, driver)
    bench.status = Status.DONE
    assert launched(bench, driver).cycles == 9


def test_memory_is_whole_beats() -> None:
    bench = Answering(9)
    memory = np.zeros(8192 + 1, np.uint8)
    with pytest.raises(MemoryImageError):
        Driver("rtl", PYNQ, bench).launch(PROGRAM, memory, Launch(address=4096))
    assert bench.setup is None

"""Machines that drivers drive: what registers say is the same whatever is behind them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import Program
from tandem.hw.registers import CONTROL, Control, Interrupt, Status, Waits, registers_of
from tandem.hw.topology import Unit
from tandem.sim.driven.drive import drive
from tandem.sim.driven.machine import MHZ, DrivenMachine
from tandem.sim.errors import EngineError
from tests.support.hw.configs import UNCOMMON, presets
from tests.support.sim.faulty import cases, image
from tests.support.sim.programs import RandomProgram, random_program

PROGRAM = 1 << 16


def machine(engine: str, config: HardwareConfig) -> DrivenMachine:
    return drive(engine, config, np.zeros(1 << 17, np.uint8))


def register(config: HardwareConfig, name: str) -> int:
    return next(each.offset for each in registers_of(config.features) if each.name == name)


def launch(driven: DrivenMachine, config: HardwareConfig, made: RandomProgram) -> None:
    launch_program(driven, config, made.program, made.image)


def launch_program(
    driven: DrivenMachine, config: HardwareConfig, program: Program, content: NDArray[np.uint8]
) -> None:
    driven.memory[: content.size] = content
    driven.memory[PROGRAM : PROGRAM + len(program.data)] = np.frombuffer(program.data, np.uint8)
    driven.write(register(config, "instruction_address"), PROGRAM)
    driven.write(register(config, "instruction_count"), len(program))
    driven.write(register(config, "irq_enable"), Interrupt.DONE | Interrupt.ERROR)
    driven.write(CONTROL, Control.LAUNCH)


@pytest.mark.parametrize("config", [*presets(), *UNCOMMON], ids=lambda config: config.name)
def test_identity(config: HardwareConfig) -> None:
    driven = machine("functional", config)
    for found in registers_of(config.features):
        if found.constant:
            assert driven.read(found.offset) == found.value(config), found.name


def test_the_identity_of_the_verilog() -> None:
    config = load_config("tiny-x")
    machines = [machine(engine, config) for engine in ("rtl", "cycle")]
    for found in registers_of(config.features):
        for _, offset, _ in found.words:
            values = [driven.read(offset) for driven in machines]
            assert values[0] == values[1], found.name
    for driven in machines:
        driven.close()


@pytest.mark.parametrize("engine", ["functional", "cycle", "rtl"])
def test_a_launch(engine: str) -> None:
    config = load_config("tiny")
    driven, made = machine(engine, config), random_program(load_config("tiny"), 2, 40)
    status, pending = register(config, "status"), register(config, "irq_status")
    begun = driven.microseconds
    launch(driven, config, made)
    driven.wait(1000)
    assert driven.read(status) == Status.DONE
    assert driven.read(pending) == Interrupt.DONE
    driven.write(pending, Interrupt.DONE)
    assert driven.read(pending) == 0
    assert (driven.memory[: made.image.size] == made.expected).all()
    cycles = driven.read(register(config, "cycles"))
    assert (cycles > 0) is (engine != "functional")
    assert driven.microseconds - begun >= cycles // MHZ
    driven.close()


def test_cycles_are_those_of_the_verilog() -> None:
    config = load_config("tiny")
    found = []
    for engine in ("cycle", "rtl"):
        driven = machine(engine, config)
        launch(driven, config, random_program(config, 4, 60))
        driven.wait(1000)
        # Counters follow the status by up to three cycles.
        assert driven.read(register(config, "status")) == Status.DONE
        found.append(driven.read(register(config, "cycles")))
        driven.close()
    assert found[0] == found[1]


def test_what_units_wait_for_is_told_alike() -> None:
    config = load_config("tiny")
    deadlocks = [case for case in cases(config) if case.fault is Fault.DEADLOCK]
    names = [f"{unit.name.lower()}_{what}" for unit in Unit for what in ("waits", "instruction")]
    waiting = set[int]()
    for case in deadlocks:
        told = []
        for engine in ("functional", "cycle", "rtl"):
            driven = machine(engine, config)
            launch_program(driven, config, case.program, image())
            driven.wait(1000)
            assert driven.read(register(config, "error_code")) == Fault.DEADLOCK, case.name
            told.append([driven.read(register(config, name)) for name in names])
            driven.close()
        assert told[0] == told[1] == told[2], case.name
        waiting |= {*told[0][::2]}
    assert waiting - {0, int(Waits.ACTIVE)}


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
def test_no_instructions(engine: str) -> None:
    config = load_config("tiny")
    driven = machine(engine, config)
    driven.write(CONTROL, Control.LAUNCH)
    driven.wait(1000)
    assert driven.read(register(config, "status")) == Status.ERROR
    assert driven.read(register(config, "error_code")) == Fault.NO_FINISH
    driven.write(CONTROL, Control.SOFT_RESET)
    driven.wait(1)
    assert not driven.read(register(config, "status")) & Status.RUNNING
    driven.close()


def test_unknown_engines() -> None:
    with pytest.raises(EngineError, match="no engine is called 'fast': there are functional, "):
        machine("fast", load_config("tiny"))

"""Machines with operations of their own: random programs on three engines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.isa import Alu
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tests.cosim.test_cycle_engine import check
from tests.support.hw.configs import with_operations
from tests.support.sim.programs import random_program

LENGTH = 40
MANY_SEEDS = 167
MEMORY = MEMORY_PRESETS["fast"]
MACHINES = with_operations()


def check_functional(config: HardwareConfig, seeds: range) -> None:
    """Each program leaves what the reference machine leaves."""
    engine = make_engine("functional", config, MEMORY)
    for seed in seeds:
        drawn = random_program(config, seed, LENGTH)
        memory, address = place_program(drawn.image, drawn.program)
        engine.launch(drawn.program, memory, Launch(address=address, max_cycles=10_000_000))
        left = memory[: len(drawn.image)]
        np.testing.assert_array_equal(left, drawn.expected, err_msg=f"{config.name}, {seed}")


def test_a_dozen_machines() -> None:
    assert len({config.name for config in MACHINES}) == 12
    assert {config.alu_stages for config in MACHINES} == {1, 2, 3, 4}


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_functional(config: HardwareConfig) -> None:
    seeds = range(7000, 7006)
    programs = [random_program(config, seed, LENGTH).program for seed in seeds]
    used = {one.op for program in programs for one in program if isinstance(one, Alu)}
    assert any(isinstance(op, CustomOperation) for op in used)
    check_functional(config, seeds)


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_many(config: HardwareConfig) -> None:
    """2,000 over a dozen machines: on the RTL and `cycle` every event, and on `functional`."""
    seeds = range(7000, 7000 + MANY_SEEDS)
    check(config, seeds)
    check_functional(config, seeds)

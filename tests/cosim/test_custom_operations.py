"""Machines with operations of their own: random programs on three engines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Assembler, MicroOp, pack_uops
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.topology import MemoryId, Unit
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine, run
from tandem.sim.memory import place_program
from tests.cosim.test_cycle_engine import check
from tests.support.hw.configs import UNCOMMON, with_operations
from tests.support.hw.found_machines import FOUND_FOR_PYNQ, TINY_FOUND, TINY_PACKED
from tests.support.sim.programs import random_program
from tests.support.sim.reference import ReferenceMachine

LENGTH = 40
MANY_SEEDS = 167
MEMORY = MEMORY_PRESETS["fast"]
MACHINES = with_operations()
BESIDE_ONE_EXTENSION = [
    config.replace(name=f"{config.name}_found", alu_operations=FOUND_FOR_PYNQ, alu_stages=3)
    for config in UNCOMMON
    if config.name in ("requantising", "input_operands")
]
"""The second operation has the opcode of RESIDUAL, which either extension alone lacks."""


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


@pytest.mark.parametrize(
    "config",
    [*MACHINES, *BESIDE_ONE_EXTENSION, TINY_FOUND, TINY_PACKED],
    ids=lambda config: config.name,
)
def test_functional(config: HardwareConfig) -> None:
    seeds = range(7000, 7006)
    programs = [random_program(config, seed, LENGTH).program for seed in seeds]
    used = {one.op for program in programs for one in program if isinstance(one, Alu)}
    assert any(isinstance(op, CustomOperation) for op in used)
    check_functional(config, seeds)


@pytest.mark.parametrize("config", [TINY_FOUND, TINY_PACKED], ids=lambda config: config.name)
def test_few(config: HardwareConfig) -> None:
    """What a search found, on the RTL and `cycle`: every event."""
    check(config, range(7000, 7004))


def test_the_opcode_of_residuals() -> None:
    """On a machine that requantises without residuals, a scale is no matter to an operation that
    has their opcode."""
    (config,) = (one for one in BESIDE_ONE_EXTENSION if Feature.REQUANTISE in one.features)
    operation = config.custom_operations[AluOp.RESIDUAL]
    image = np.random.default_rng(0).integers(0, 256, 0x4000, np.uint8)
    uops = pack_uops(config, [MicroOp(dst=0, src=1)])
    image[: len(uops)] = np.frombuffer(uops, np.uint8)
    # Results of a few bits, which pass as they are.
    at, numbers = 32 * config.element_bytes(MemoryId.ACC), np.arange(90, 90 + 2 * config.acc_lanes)
    image[at:][: 4 * len(numbers)] = numbers.astype(np.int32).view(np.uint8)
    at, parameters = 16 * config.element_bytes(MemoryId.PAR), [0, 0, 0, 0, 1, 0, 0, 0]
    image[at:][: len(parameters) * config.block_out] = parameters * config.block_out
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.PAR, sram=0, dram=16, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=8, columns=2, signals=Unit.COMPUTE)
    asm.load(MemoryId.ACC, sram=0, dram=32, columns=2, waits_for=Unit.LOAD)
    asm.requantise(0, scale=0xFFFF)
    asm.alu(operation, (0, 1), signals=Unit.STORE)
    asm.store(
        sram=0, dram=0x3000 // config.element_bytes(MemoryId.OUT), columns=1, waits_for=Unit.COMPUTE
    )
    asm.finish()
    program, reference, expected = asm.build(), ReferenceMachine(config), image.copy()
    for instruction in program:
        reference.step(instruction, expected)
    assert np.any(image != expected)
    for name in ("functional", "cycle"):
        left = run(config, program, image, engine=name)[1]
        np.testing.assert_array_equal(left[: len(image)], expected, err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", BESIDE_ONE_EXTENSION, ids=lambda config: config.name)
def test_beside_one_extension(config: HardwareConfig) -> None:
    check(config, range(7000, 7020))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_many(config: HardwareConfig) -> None:
    """2,000 over a dozen machines: on the RTL and `cycle` every event, and on `functional`."""
    seeds = range(7000, 7000 + MANY_SEEDS)
    check(config, seeds)
    check_functional(config, seeds)

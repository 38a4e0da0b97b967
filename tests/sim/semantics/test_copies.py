"""Compiled LOADs, STOREs and TABLEs of every memory against the reference machine: what is copied,
what is zero around it, what stays, and which row is the first that memory refuses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Instruction, Load, MemoryId, Program, Store, Table
from tandem.hw.isa.columns import make_table
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.detail import (
    BUS_READ,
    BUS_WRITE,
    END_BYTE,
    FIRST_BYTE,
    NONE,
    Detail,
    make_detail,
)
from tandem.sim.semantics.dram import make_dram
from tandem.sim.semantics.load import load, load_with_out, set_table
from tandem.sim.semantics.requantiser import Requantiser
from tandem.sim.semantics.store import store, store_out
from tests.support.hw.configs import UNCOMMON
from tests.support.sim.compiled_memories import memories_of, random_memories
from tests.support.sim.reference import ReferenceMachine

MACHINES = (*UNCOMMON, load_config("tiny"))
BYTES = 1 << 16
Image = npt.NDArray[np.uint8]


def machine_of(
    config: HardwareConfig, rng: random.Random
) -> tuple[ReferenceMachine, list[int], Image]:
    """A machine with random memories and base registers, and an image."""
    seed = rng.randrange(1 << 20)
    registers = [256 * rng.randrange(4) for _ in range(BASE_REGISTERS)]
    machine = random_memories(config, seed, {each: registers[each.base] for each in MemoryId})
    machine.table = [rng.randint(-128, 127) for _ in machine.table]
    image = np.random.default_rng(seed).integers(0, 256, BYTES).astype(np.uint8)
    return machine, registers, image


def run(
    machine: ReferenceMachine,
    registers: list[int],
    image: Image,
    instruction: Instruction,
    refused: tuple[tuple[int, int], ...] = (),
) -> tuple[Chip, Requantiser | None, int, Detail]:
    """The memories after an instruction, in compiled code, with its fault; `image` may change."""
    config = machine.config
    chip, requantiser = memories_of(machine)
    dram = make_dram(image, registers, refused, config)
    row = make_table(Program.from_instructions(config, [instruction]).columns())[0]
    detail = make_detail()
    if isinstance(instruction, Table):
        set_table(chip, row)
        return chip, requantiser, NONE, detail
    if requantiser is None:
        copy = load if isinstance(instruction, Load) else store
        fault = copy(chip, dram, row, detail)
    else:
        copy_out = load_with_out if isinstance(instruction, Load) else store_out
        fault = copy_out(chip, requantiser, dram, row, detail)
    return chip, requantiser, fault, detail


def same(found: tuple[Chip, Requantiser | None], machine: ReferenceMachine) -> None:
    chip, requantiser = memories_of(machine)
    for name in ("uop", "wgt", "inp", "acc", "table"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(chip, name), name)
    assert (requantiser is None) == (found[1] is None)
    if requantiser is not None:
        for name in ("out", "par"):
            np.testing.assert_array_equal(getattr(found[1], name), getattr(requantiser, name), name)


def rectangle(
    rng: random.Random, config: HardwareConfig, memory: MemoryId, *, padded: bool
) -> Load | Store:
    """A copy that fits the memory and the image."""
    coding = rng.choice(tuple(Coding)) if memory is MemoryId.WGT_CODES else Coding.BITS_1
    held = MemoryId.WGT if memory is MemoryId.WGT_CODES else memory
    while True:
        y_0, y_1, x_0, x_1 = (rng.choice((0, 0, 1, 2)) * padded for _ in range(4))
        height, width = rng.randint(1, 3), rng.randint(1, 4)
        count = (y_0 + height + y_1) * (x_0 + width + x_1)
        stride = rng.randint(0, width + 2)
        size, unit = config.element_bytes(memory, coding), config.dram_unit(memory)
        reach = (height - 1) * stride * unit + width * size
        if count <= config.depth(held) and reach + 1024 <= BYTES:
            break
    places: dict[str, Any] = {
        "memory": memory,
        "sram_base": rng.randint(0, config.depth(held) - count),
        "dram_base": rng.randint(0, (BYTES - 1024 - reach) // unit),
        "y_size": height,
        "x_size": width,
        "x_stride": stride,
    }
    if not padded:
        return Store(**places)
    padding: dict[str, Any] = {"y_pad_0": y_0, "y_pad_1": y_1, "x_pad_0": x_0, "x_pad_1": x_1}
    return Load(**places, **padding, coding=coding)


def targets(config: HardwareConfig) -> list[MemoryId]:
    return [memory for memory in config.memories if memory is not MemoryId.OUT]


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_loads_of_every_memory(config: HardwareConfig) -> None:
    rng = random.Random(f"loads {config.name}")
    for memory in targets(config):
        for _ in range(6):
            machine, registers, image = machine_of(config, rng)
            instruction = rectangle(rng, config, memory, padded=True)
            chip, requantiser, fault, _ = run(machine, registers, image, instruction)
            assert fault == NONE
            machine.step(instruction, image)
            same((chip, requantiser), machine)


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_stores(config: HardwareConfig) -> None:
    rng = random.Random(f"stores {config.name}")
    for _ in range(8):
        machine, registers, image = machine_of(config, rng)
        instruction = rectangle(rng, config, MemoryId.OUT, padded=False)
        found = image.copy()
        chip, requantiser, fault, _ = run(machine, registers, found, instruction)
        assert fault == NONE
        same((chip, requantiser), machine)
        machine.step(instruction, image)
        np.testing.assert_array_equal(found, image)


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_no_elements_are_no_copy(config: HardwareConfig) -> None:
    """Not even padding is written, wherever it would be read."""
    rng = random.Random(f"none {config.name}")
    machine, registers, image = machine_of(config, rng)
    before = image.copy()
    fields: dict[str, Any] = {"sram_base": 0, "y_size": 2, "x_size": 0, "x_stride": 1}
    for memory in targets(config):
        empty = Load(memory=memory, dram_base=BYTES, y_pad_0=1, x_pad_1=1, **fields)
        chip, requantiser, fault, _ = run(machine, registers, image, empty)
        assert fault == NONE
        same((chip, requantiser), machine)
    nothing = Store(memory=MemoryId.OUT, dram_base=BYTES, **fields)
    assert run(machine, registers, image, nothing)[2] == NONE
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
def test_the_first_row_that_memory_refuses(config: HardwareConfig) -> None:
    """Of ranges that answer with an error, and of the end of memory; nothing is copied then."""
    rng = random.Random(f"refused {config.name}")
    found_faults = 0
    for number in range(24):
        machine, registers, image = machine_of(config, rng)
        stored = number % 3 == 0
        memory = MemoryId.OUT if stored else rng.choice(targets(config))
        copy = rectangle(rng, config, memory, padded=not stored)
        length = copy.x_size * config.element_bytes(
            memory, copy.coding if isinstance(copy, Load) else Coding.BITS_1
        )
        unit = config.dram_unit(memory)
        rows = [
            registers[memory.base] + (copy.dram_base + y * copy.x_stride) * unit
            for y in range(copy.y_size)
        ]
        edge = rng.choice(rows) + rng.choice((-1, 0, 1, length - 1, length, length + 1))
        refused = ((edge, edge + rng.choice((1, 4))), (BYTES - 1, BYTES))
        memory_end = BYTES if rng.random() < 0.5 else max(rows) + length - rng.choice((0, 1))
        image = image[:memory_end].copy()
        bad = [
            row
            for row in rows
            if row + length > memory_end
            or any(row < end and row + length > start for start, end in refused)
        ]
        before = image.copy()
        chip, requantiser, fault, detail = run(machine, registers, image, copy, refused)
        if not bad:
            assert fault == NONE
            continue
        found_faults += 1
        assert fault == (BUS_WRITE if stored else BUS_READ)
        assert (detail[FIRST_BYTE], detail[END_BYTE]) == (bad[0], bad[0] + length)
        same((chip, requantiser), machine)
        np.testing.assert_array_equal(image, before)
    assert 4 < found_faults < 24


@pytest.mark.parametrize("upper", [False, True])
def test_a_table_is_set_in_halves(upper: bool) -> None:
    config = next(each for each in MACHINES if MemoryId.WGT_CODES in each.memories)
    rng = random.Random(f"table {upper}")
    for _ in range(8):
        machine, registers, image = machine_of(config, rng)
        low, high = rng.getrandbits(32), rng.getrandbits(32)
        instruction = Table(upper_half=upper, entries_low=low, entries_high=high)
        chip, requantiser, _, _ = run(machine, registers, image, instruction)
        machine.step(instruction, image)
        same((chip, requantiser), machine)

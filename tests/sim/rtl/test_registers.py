"""The control registers of the generated Verilog, compiled: every word of the map, and what the
registers of the units tell while a program runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Unit, pack_uops
from tandem.hw.register_model import Access
from tandem.hw.registers import (
    ADDRESS_BITS,
    CONTROL,
    MAGIC,
    NO_INSTRUCTION,
    VERSION,
    Control,
    Status,
    registers_of,
)
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import EngineError
from tandem.sim.memory import place_program
from tandem.sim.rtl.bench import BenchSetup
from tandem.sim.rtl.launch import Driver
from tandem.sim.rtl.library import CompiledBench
from tests.support.sim.compiled_machines import compiled_machine

CONFIGS = [load_config("tiny"), load_config("tiny-x")]
ACTIVE, FOR_NEXT, FOR_PREVIOUS = 1 << 8, 1 << 1, 1 << 0
FAR = 0xAAAA
"""The number of an instruction that uses the upper bits of a register of instructions."""
SLICE = 500
"""Cycles between two looks at the machine; its long instruction takes more."""


@pytest.fixture(params=CONFIGS, ids=lambda config: config.name)
def config(request: pytest.FixtureRequest) -> HardwareConfig:
    """A machine without extensions, and one with them all."""
    return request.param


@pytest.fixture
def bench(config: HardwareConfig) -> Iterator[CompiledBench]:
    """The machine after reset."""
    with compiled_machine(config) as made:
        yield made


def words_of(config: HardwareConfig, *access: Access) -> list[int]:
    """Offsets of the words of the configuration's registers with one of the types of access."""
    return [
        register.offset + 4 * part
        for register in registers_of(config.features)
        if register.access in access
        for part in range(register.bits // 32)
    ]


def test_every_word_answers(config: HardwareConfig, bench: CompiledBench) -> None:
    """What is no register is refused, by reads and by writes."""
    mapped = words_of(config, *Access)
    for offset in range(0, 1 << ADDRESS_BITS, 4):
        if offset in mapped:
            bench.read(offset)
            bench.write(offset, 0)
            continue
        with pytest.raises(EngineError, match=f"read of register {offset:#05x}: .* response 2"):
            bench.read(offset)
        with pytest.raises(EngineError, match=f"write of register {offset:#05x}: .* response 2"):
            bench.write(offset, 0xFFFF_FFFF)


def test_values_after_reset(config: HardwareConfig, bench: CompiledBench) -> None:
    """Those that tell what the machine is are not 0; nor is the number of no instruction."""
    driver = Driver("rtl", config, bench)
    known = {
        "magic": MAGIC,
        "version": VERSION,
        "shape": config.log_batch | config.log_block_in << 8 | config.log_block_out << 16,
        **{f"{unit.name.lower()}_instruction": NO_INSTRUCTION for unit in Unit},
    }
    parts = ("buffers", "par_buffer", "bus", "features")
    for register in registers_of(config.features):
        if register.name not in parts:
            assert driver.read(register.name) == known.get(register.name, 0), register.name
    assert driver.read("bus") & 0xFFFF == config.bus_bits


def test_words_keep_what_is_written(config: HardwareConfig, bench: CompiledBench) -> None:
    """Each on its own, and whatever is written to words that cannot be; addresses are aligned."""
    values = random.Random(0)
    written = {
        offset: values.getrandbits(28) << 4 for offset in words_of(config, Access.READ_WRITE)
    }
    for offset, value in written.items():
        bench.write(offset, value)
    acting = words_of(config, Access.WRITE_ONE)
    mapped = words_of(config, *Access)
    for offset in range(0, 1 << ADDRESS_BITS, 4):
        if offset not in (*written, *acting):
            with nullcontext() if offset in mapped else pytest.raises(EngineError):
                bench.write(offset, 0xFFFF_FFFF)
    masks = {
        offset: register.mask >> lsb & 0xFFFF_FFFF
        for register in registers_of(config.features)
        for _, offset, lsb in register.words
    }
    for offset, value in written.items():
        assert bench.read(offset) == value & masks[offset], hex(offset)


def begin(config: HardwareConfig, bench: CompiledBench, asm: Assembler, image: Bytes) -> Driver:
    """Launch a program, of which no cycle has run yet."""
    program, driver = asm.build(), Driver("rtl", config, bench)
    memory, address = place_program(image, program)
    bench.attach(BenchSetup.of(memory, Launch(address=address)))
    driver.write("instruction_address", address)
    driver.write("instruction_count", len(program))
    driver.write("irq_enable", 1)
    bench.write(CONTROL, Control.LAUNCH)
    return driver


def units(driver: Driver) -> dict[Unit, tuple[int, int]]:
    """The registers of units: of the instruction, and of what it waits for."""
    return {
        unit: (
            driver.read(f"{unit.name.lower()}_instruction"),
            driver.read(f"{unit.name.lower()}_waits"),
        )
        for unit in Unit
    }


@pytest.mark.parametrize(
    ("unit", "others", "waits"),
    [
        (Unit.LOAD, [Unit.COMPUTE], FOR_NEXT),
        (Unit.COMPUTE, [Unit.LOAD], FOR_PREVIOUS),
        (Unit.COMPUTE, [Unit.STORE], FOR_NEXT),
        (Unit.COMPUTE, [Unit.LOAD, Unit.STORE], FOR_PREVIOUS | FOR_NEXT),
        (Unit.STORE, [Unit.COMPUTE], FOR_PREVIOUS),
    ],
)
def test_what_a_unit_waits_for(
    config: HardwareConfig, bench: CompiledBench, unit: Unit, others: list[Unit], waits: int
) -> None:
    """Tokens that nobody pushes; nothing else is in the register."""
    asm = Assembler(config)
    asm.nop(unit, waits_for=others)
    asm.finish()
    driver = begin(config, bench, asm, np.zeros(64, np.uint8))
    bench.run(SLICE)
    idle = dict.fromkeys(Unit, (NO_INSTRUCTION, 0))
    assert units(driver) == idle | {unit: (0, ACTIVE | waits)}
    bench.detach()


def test_what_units_do_far_into_a_program(config: HardwareConfig, bench: CompiledBench) -> None:
    """Compute executes one long instruction and has none in its queue; load waits for it."""
    micro_ops = np.frombuffer(pack_uops(config, [MicroOp(0)]), np.uint8)
    asm = Assembler(config)
    for _ in range(FAR - 1):
        asm.nop(Unit.STORE)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.alu(AluOp.ADD, (0, 1), (Loop(4 * SLICE),), imm=1, signals=Unit.LOAD)
    # So many that not all find a place in the queue, and FINISH stays behind them.
    for number in range(config.instruction_queue + 2):
        asm.nop(Unit.LOAD, waits_for=() if number else Unit.COMPUTE)
    asm.finish()
    driver = begin(config, bench, asm, np.resize(micro_ops, 64))
    for _ in range(8 * FAR // SLICE):
        bench.run(SLICE)
        if driver.read("load_waits"):
            break
    bench.run(SLICE)
    assert units(driver) == {
        Unit.LOAD: (FAR + 1, ACTIVE | FOR_NEXT),
        Unit.COMPUTE: (FAR, ACTIVE),
        Unit.STORE: (NO_INSTRUCTION, 0),
    }
    assert bench.run(100 * SLICE)
    assert driver.read("status") == Status.DONE
    bench.detach()

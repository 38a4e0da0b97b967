"""Tests of the reference machine (golden vectors) and of the random programs' guarantees.

Many other tests rely on these two helpers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Assembler,
    Gemm,
    Load,
    Loop,
    MemoryId,
    MicroOp,
    Program,
    Requantise,
    Store,
    Tokens,
    Unit,
    pack_uops,
    unit_of,
    validate,
)
from tests.support.hw.strategies import configs
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.programs import random_program
from tests.support.sim.random_ground import PAGE
from tests.support.sim.reference import ReferenceMachine, run_in_order, run_shuffled

TINY = load_config("tiny")
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))


@pytest.mark.parametrize("name", vector_names())
def test_reference_against_vectors(name: str) -> None:
    vector = load_vector(name)
    np.testing.assert_array_equal(run_in_order(vector.program, vector.before), vector.after)
    for seed in range(4):
        shuffled = run_shuffled(vector.program, vector.before, seed)
        np.testing.assert_array_equal(shuffled, vector.after)


def test_reference_adds_bases() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.ACC, sram=0, dram=1, columns=1, signals=Unit.STORE)
    asm.store(sram=0, dram=2, columns=1, waits_for=Unit.COMPUTE)
    image = np.arange(200, dtype=np.uint8)
    machine = ReferenceMachine(TINY, {MemoryId.ACC: 32, MemoryId.OUT: 100})
    for instruction in asm.build():
        machine.step(instruction, image)
    assert image[100 + 2 * 4 : 100 + 3 * 4].tolist() == [48, 52, 56, 60]


@pytest.mark.parametrize(
    ("uop", "imm", "fault"),
    [
        (MicroOp(31), 0, Fault.SRAM_INDEX),
        (MicroOp(0, 31), None, Fault.SRAM_INDEX),
        (MicroOp(0, 0), None, Fault.SHIFT),
    ],
)
def test_reference_refuses(uop: MicroOp, imm: int | None, fault: Fault) -> None:
    asm = Assembler(TINY)
    asm.alu(AluOp.SHR, (0, 1), [Loop(2, dst=1, src=1)], imm=imm)
    machine = ReferenceMachine(TINY)
    machine.uop[:1] = np.frombuffer(pack_uops(TINY, [uop]), np.uint32)
    machine.acc[0] = 32
    with pytest.raises(ProgramError) as caught:
        machine.step(asm.build()[0], np.zeros(16, np.uint8), 7)
    assert (caught.value.fault, caught.value.instruction) == (fault, 7)


# Random programs ----------------------------------------------------------------------------


@given(config=configs(), seed=st.integers(0, 2**32), size=st.integers(6, 60))
def test_random_programs_keep_their_promise(config: HardwareConfig, seed: int, size: int) -> None:
    made = random_program(config, seed, size)
    validate(made.program)
    np.testing.assert_array_equal(run_in_order(made.program, made.image), made.expected)
    for order in range(3):
        shuffled = run_shuffled(made.program, made.image, order)
        np.testing.assert_array_equal(shuffled, made.expected)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", preset_names())
def test_random_programs_of_the_presets(name: str) -> None:
    config = load_config(name)
    for seed in range(4):
        made = random_program(config, seed, 70)
        validate(made.program)
        for order in range(4):
            shuffled = run_shuffled(made.program, made.image, order)
            np.testing.assert_array_equal(shuffled, made.expected)


def test_same_seed_same_program() -> None:
    one, other = random_program(TINY, 3, 40), random_program(TINY, 3, 40)
    assert one.program == other.program
    np.testing.assert_array_equal(one.image, other.image)
    assert random_program(TINY, 4, 40).program != one.program


@pytest.mark.parametrize("config", [TINY, EXTENDED], ids=lambda config: config.name)
def test_nothing_is_read_before_it_is_written(config: HardwareConfig) -> None:
    for seed in range(12):
        made = random_program(config, seed, 60)
        machine, memory = ReferenceMachine(config), made.image.copy()
        rng = np.random.default_rng(seed)
        memories = (machine.uop, machine.inp, machine.wgt, machine.acc, machine.out, machine.par)
        for chip in memories:
            chip[:] = rng.integers(-100, 100, chip.shape).astype(chip.dtype)
        for instruction in made.program:
            machine.step(instruction, memory)
        np.testing.assert_array_equal(memory, made.expected)


def test_tokens_are_needed() -> None:
    """Without its tokens, some order of a random program gives another result."""
    wrong = 0
    for seed in range(12):
        made = random_program(TINY, seed, 60)
        bare = [replace(one, tokens=Tokens()) for one in made.program]
        program = Program.from_instructions(TINY, bare)
        for order in range(4):
            try:
                shuffled = run_shuffled(program, made.image, order)
            except ProgramError:
                wrong += 1
            else:
                wrong += not np.array_equal(shuffled, made.expected)
    assert wrong > 20


def test_random_programs_reach_every_corner() -> None:
    configurations = (TINY, load_config("pynq"), EXTENDED)
    seen: Counter[str] = Counter()
    for seed in range(24):
        for config in configurations:
            program = random_program(config, seed, 60).program
            for one in program:
                seen.update(_corners(config, one))
                seen[f"{config.name} {unit_of(one).name}"] += 1
    kinds = ["load " + memory.name for memory in TINY.memories if memory is not MemoryId.OUT]
    kinds += [f"{op.name} {operand}" for op in TINY.operations for operand in ("imm", "src")]
    kinds += ["gemm", "reset", "empty load", "empty store", "pad 15", "stride 0", "short stride"]
    kinds += ["crosses a page", "longer than a burst", "unaligned", "last element"]
    kinds += ["one accumulator again"]
    operations = [op for op in AluOp if op is not AluOp.RESIDUAL]
    added = ["load PAR", "overwrite", "active", "off", "low above high", "RESIDUAL inp"]
    added += [f"{op.name} {operand}" for op in operations for operand in ("imm", "src", "inp")]
    missing = [
        f"{config.name} {kind}"
        for config in configurations
        for kind in (*kinds, *(added if config.features else ()))
        if not seen[f"{config.name} {kind}"] and (config.name, kind) != ("pynq", "unaligned")
    ]
    assert not missing


def _corners(config: HardwareConfig, one: object) -> list[str]:
    found = []
    match one:
        case Load(x_size=0):
            found.append("empty load")
        case Store(x_size=0):
            found.append("empty store")
        case Load() | Store():
            size = config.element_bytes(one.memory)
            first = one.dram_base * size
            row = one.x_size * size
            if isinstance(one, Load):
                found.append(f"load {one.memory.name}")
                rows = one.y_pad_0 + one.y_size + one.y_pad_1
                end = one.sram_base + rows * (one.x_pad_0 + one.x_size + one.x_pad_1)
                pads = (one.y_pad_0, one.y_pad_1, one.x_pad_0, one.x_pad_1)
                found += ["pad 15"] * (15 in pads) + ["stride 0"] * (one.x_stride == 0)
                found += ["last element"] * (end == config.depth(one.memory))
            found += ["short stride"] * (0 < one.x_stride < one.x_size and one.y_size > 1)
            found += ["crosses a page"] * (first // PAGE < (first + row - 1) // PAGE)
            found += ["longer than a burst"] * (row > config.longest_burst * config.bus_bytes)
            found += ["unaligned"] * (first % config.bus_bytes != 0)
        case Gemm():
            found.append("reset" if one.reset else "overwrite" if one.overwrite else "gemm")
            again = one.iter_in > 1 and one.dst_factor_in == 0 and one.uop_end - one.uop_bgn == 1
            found += ["one accumulator again"] * (again and not one.reset)
        case Alu():
            operand = "imm" if one.use_imm else "inp" if one.from_inp else "src"
            found.append(f"{one.op.name} {operand}")
        case Requantise():
            found.append("active" if one.active else "off")
            found += ["low above high"] * (one.low > one.high)
    return [f"{config.name} {corner}" for corner in found]

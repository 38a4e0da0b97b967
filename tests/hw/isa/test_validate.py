"""Legal and illegal programs, one instruction at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Coding,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    Program,
    Requantise,
    Store,
    Table,
    Tokens,
    Unit,
    dram_ranges,
    encode,
    unit_of,
    validate,
)
from tests.support.hw.hazards.dependences import DRAM, touches
from tests.support.hw.instructions import ALU as SHR
from tests.support.hw.instructions import GEMM, LOAD, STORE
from tests.support.hw.strategies import configs, instructions
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.programs import random_program

PYNQ = load_config("pynq")
TINY = load_config("tiny")
EXTENDED = PYNQ.replace(name="extended", features=frozenset(Feature))

ALU = replace(SHR, imm=31)


def program_of(*words: Instruction | bytes, config: HardwareConfig = PYNQ) -> Program:
    """A program of instructions and raw words."""
    parts = [word if isinstance(word, bytes) else encode(config, word) for word in words]
    return Program(config, b"".join(parts))


def refused(program: Program) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        validate(program)
    return caught.value


# What is legal ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", vector_names())
def test_vectors_are_legal(name: str) -> None:
    validate(load_vector(name).program)


@pytest.mark.parametrize(
    "instruction",
    [
        LOAD,
        STORE,
        GEMM,
        ALU,
        replace(ALU, imm=-31),
        replace(ALU, op=AluOp.MUL, imm=-32768),
        replace(ALU, use_imm=False, imm=32767),
        replace(ALU, iter_in=2, src_factor_in=2047, dst_factor_in=2047),
        replace(GEMM, reset=True, iter_in=16383, src_factor_in=2047, wgt_factor_in=1023),
        replace(GEMM, uop_bgn=8191, uop_end=8192),
        replace(LOAD, sram_base=2047),
        replace(LOAD, sram_base=2048 - 31 * 31, y_pad_0=15, y_pad_1=15, x_pad_0=15, x_pad_1=15),
        replace(LOAD, memory=MemoryId.ACC_8BIT, sram_base=2047),
        replace(LOAD, dram_base=2**32 - 1, x_stride=65535),
        # Without data nothing but the memory and the tokens matters.
        replace(LOAD, x_size=0, sram_base=65535, y_size=65535, y_pad_0=15, x_pad_1=15),
        replace(LOAD, x_size=0, y_size=0),
        replace(STORE, x_size=0, sram_base=65535, y_pad_0=15, x_pad_1=15),
    ],
)
def test_legal(instruction: Instruction) -> None:
    validate(program_of(instruction, Finish()))


# What is not --------------------------------------------------------------------------------

ILLEGAL: list[tuple[Instruction | bytes, Fault, str]] = [
    (b"\x05" + bytes(15), Fault.OPCODE, r"opcode 5 is none of 0\.\.4"),
    (b"\x06" + bytes(15), Fault.OPCODE, r"opcode 6 is none of 0\.\.4"),
    (b"\xff" * 16, Fault.OPCODE, r"opcode 7 is none of 0\.\.4"),
    (b"\x00\x03" + bytes(14), Fault.MEMORY_ID, r"LOAD of memory id 6: it is none of 0\.\.5"),
    (b"\x81\x03" + bytes(14), Fault.MEMORY_ID, r"STORE of memory id 7: it is none of 0\.\.5"),
    (replace(LOAD, memory=MemoryId.OUT), Fault.LOAD_OUT, "LOAD of OUT: .* only be stored"),
    (replace(LOAD, memory=MemoryId.OUT, x_size=0), Fault.LOAD_OUT, "LOAD of OUT"),
    (replace(STORE, memory=MemoryId.ACC), Fault.STORE_MEMORY, "STORE of ACC: only OUT"),
    (replace(STORE, memory=MemoryId.INP, x_size=0), Fault.STORE_MEMORY, "STORE of INP"),
    (
        replace(STORE, x_pad_1=2),
        Fault.STORE_PAD,
        r"STORE with padding \(y_pad_0 0, y_pad_1 0, x_pad_0 0, x_pad_1 2\)",
    ),
    (replace(STORE, y_pad_0=1), Fault.STORE_PAD, "STORE with padding"),
    (replace(STORE, y_pad_1=1), Fault.STORE_PAD, "STORE with padding"),
    (replace(STORE, x_pad_0=1), Fault.STORE_PAD, "STORE with padding"),
    (replace(LOAD, y_size=0, x_size=9), Fault.NO_ROWS, "LOAD of y_size 0 with x_size 9"),
    (replace(STORE, y_size=0), Fault.NO_ROWS, "STORE of y_size 0 with x_size 1"),
    (replace(GEMM, iter_out=0), Fault.LOOP_COUNT, "GEMM with iter_out 0, iter_in 1: both must"),
    (replace(ALU, iter_in=0), Fault.LOOP_COUNT, "ALU with iter_out 1, iter_in 0: both must"),
    (
        replace(GEMM, uop_bgn=5, uop_end=5),
        Fault.UOP_RANGE,
        r"GEMM over micro-ops 5\.\.5 \(end excluded\): uop_end must lie in 6\.\.8192",
    ),
    (replace(ALU, uop_bgn=6, uop_end=5), Fault.UOP_RANGE, r"ALU over micro-ops 6\.\.5"),
    (replace(GEMM, uop_bgn=8000, uop_end=8193), Fault.UOP_RANGE, r"lie in 8001\.\.8192"),
    (replace(ALU, imm=32), Fault.SHIFT, r"SHR by 32: it must lie in -31\.\.31"),
    (replace(ALU, imm=-32), Fault.SHIFT, "SHR by -32"),
    (
        replace(LOAD, sram_base=2040, x_size=9),
        Fault.SRAM_RANGE,
        r"LOAD covers INP elements 2040\.\.2049 \(end excluded\): the memory has 2048",
    ),
    (replace(LOAD, sram_base=2047, x_pad_1=1), Fault.SRAM_RANGE, r"INP elements 2047\.\.2049"),
    (replace(LOAD, sram_base=2047, y_pad_0=1), Fault.SRAM_RANGE, r"INP elements 2047\.\.2049"),
    (replace(LOAD, memory=MemoryId.WGT, sram_base=1024), Fault.SRAM_RANGE, "memory has 1024"),
    (replace(LOAD, memory=MemoryId.UOP, sram_base=8192), Fault.SRAM_RANGE, "memory has 8192"),
    (replace(LOAD, memory=MemoryId.ACC_8BIT, sram_base=2048), Fault.SRAM_RANGE, "ACC_8BIT"),
    (replace(LOAD, y_size=65535, x_size=65535), Fault.SRAM_RANGE, r"0\.\.4294836225"),
    (replace(STORE, y_size=3, x_size=683), Fault.SRAM_RANGE, r"OUT elements 0\.\.2049"),
    (
        replace(LOAD, tokens=Tokens(pop_prev=True)),
        Fault.TOKEN_FLAG,
        "LOAD with pop_prev: no unit comes before load",
    ),
    (
        replace(LOAD, x_size=0, tokens=Tokens(pop_prev=True, push_prev=True)),
        Fault.TOKEN_FLAG,
        "LOAD with pop_prev and push_prev",
    ),
    (
        replace(STORE, tokens=Tokens(push_next=True)),
        Fault.TOKEN_FLAG,
        "STORE with push_next: no unit comes after store",
    ),
    (
        replace(STORE, x_size=0, tokens=Tokens(pop_next=True)),
        Fault.TOKEN_FLAG,
        "STORE with pop_next",
    ),
    (
        (int.from_bytes(encode(PYNQ, ALU), "little") | 6 << 108).to_bytes(16, "little"),
        Fault.FEATURE,
        "ALU opcode 7 is an extension that pynq lacks",
    ),
    (
        (int.from_bytes(encode(PYNQ, GEMM), "little") | 1 << 63).to_bytes(16, "little"),
        Fault.FEATURE,
        "GEMM sets bit 63, which no field has: it would belong to an extension that pynq lacks",
    ),
    (
        replace(GEMM, iter_in=2, dst_factor_in=2047, iter_out=2, dst_factor_out=1),
        Fault.SRAM_INDEX,
        "GEMM's loop factors reach beyond a memory whatever the micro-ops hold",
    ),
    (replace(GEMM, iter_in=3, src_factor_in=1024), Fault.SRAM_INDEX, "GEMM's loop factors"),
    (replace(GEMM, iter_out=3, wgt_factor_out=512), Fault.SRAM_INDEX, "GEMM's loop factors"),
    (
        replace(ALU, use_imm=False, iter_in=16383, src_factor_in=1),
        Fault.SRAM_INDEX,
        "ALU's loop factors",
    ),
]


REQUANTISE = Requantise(active=True, par_base=63, par_factor_out=1, par_factor_in=1)
INPUT = replace(ALU, op=AluOp.ADD, use_imm=False, from_inp=True)

ILLEGAL_EXTENDED: list[tuple[tuple[Instruction | bytes, ...], Fault, str]] = [
    ((b"\x07" + bytes(15),), Fault.OPCODE, r"opcode 7 is none of 0\.\.6"),
    ((replace(STORE, memory=MemoryId.WGT_CODES),), Fault.STORE_MEMORY, "STORE of WGT_CODES"),
    (
        (replace(LOAD, coding=Coding.BITS_4),),
        Fault.FEATURE,
        "LOAD of INP with coding 2: only WGT_CODES has codes",
    ),
    (
        (b"\x01\x02" + bytes(5) + b"\x08" + bytes(8),),
        Fault.FEATURE,
        "STORE sets bit 59, which no field has",
    ),
    (
        (replace(LOAD, memory=MemoryId.WGT_CODES, sram_base=1024, coding=Coding.BITS_2),),
        Fault.SRAM_RANGE,
        r"LOAD covers WGT_CODES elements 1024\.\.",
    ),
    (
        (Table(entries_low=0, entries_high=0, tokens=Tokens(push_prev=True)),),
        Fault.TOKEN_FLAG,
        "TABLE with push_prev: no unit comes before load",
    ),
    ((replace(STORE, memory=MemoryId.PAR),), Fault.STORE_MEMORY, "STORE of PAR: only OUT"),
    (
        (replace(LOAD, memory=MemoryId.PAR, sram_base=64),),
        Fault.SRAM_RANGE,
        r"LOAD covers PAR elements 64\.\.65 \(end excluded\): the memory has 64",
    ),
    (
        (replace(LOAD, memory=MemoryId.PAR, tokens=Tokens(pop_prev=True)),),
        Fault.TOKEN_FLAG,
        "LOAD with pop_prev: no unit comes before load",
    ),
    (
        (replace(INPUT, use_imm=True),),
        Fault.FEATURE,
        "ALU with from_inp and use_imm: it has one second operand",
    ),
    (
        (replace(ALU, op=AluOp.RESIDUAL, use_imm=False),),
        Fault.FEATURE,
        "ALU RESIDUAL without from_inp: its second operand lies in INP",
    ),
    (
        ((7 << 108 | 1 << 35 | 1 << 49 | 1 << 21 | 4).to_bytes(16, "little"),),
        Fault.FEATURE,
        "ALU opcode 7",
    ),
    (
        ((1 << 127 | 5).to_bytes(16, "little"),),
        Fault.FEATURE,
        "REQUANTISE sets bit 127, which no field has",
    ),
    ((replace(INPUT, iter_in=3, src_factor_in=1024),), Fault.SRAM_INDEX, "ALU's loop factors"),
    ((replace(GEMM, iter_in=2), REQUANTISE), Fault.SRAM_INDEX, "GEMM's loop factors"),
    ((replace(GEMM, iter_out=2, reset=True), REQUANTISE), Fault.SRAM_INDEX, "GEMM's loop factors"),
    ((replace(ALU, iter_out=2), REQUANTISE), Fault.SRAM_INDEX, "ALU's loop factors"),
]
"""A faulty instruction, and what comes before it."""


@pytest.mark.parametrize(("words", "fault", "message"), ILLEGAL_EXTENDED)
def test_illegal_with_extensions(
    words: tuple[Instruction | bytes, ...], fault: Fault, message: str
) -> None:
    instruction, *before = words
    program = program_of(*before, instruction, Finish(), config=EXTENDED)
    with pytest.raises(ProgramError, match=rf"^instruction {len(before)}: .*{message}.*"):
        validate(program)
    assert refused(program).fault is fault


@pytest.mark.parametrize(
    "words",
    [
        (replace(LOAD, memory=MemoryId.PAR, sram_base=63),),
        (REQUANTISE, GEMM, replace(ALU, op=AluOp.MOVE)),
        (REQUANTISE, Requantise(active=False, par_base=63), replace(GEMM, iter_in=2)),
        (replace(REQUANTISE, active=False), replace(GEMM, iter_in=2)),
        (replace(REQUANTISE, par_base=62), replace(GEMM, iter_in=2)),
        (INPUT, replace(INPUT, op=AluOp.RESIDUAL), replace(INPUT, op=AluOp.MOVE)),
    ],
)
def test_legal_with_extensions(words: tuple[Instruction, ...]) -> None:
    validate(program_of(*words, Finish(), config=EXTENDED))


@pytest.mark.parametrize(("instruction", "fault", "message"), ILLEGAL)
def test_illegal(instruction: Instruction | bytes, fault: Fault, message: str) -> None:
    program = program_of(LOAD, instruction, Finish())
    with pytest.raises(ProgramError, match=rf"^instruction 1: .*{message}.* \[{fault.name}\]$"):
        validate(program)
    error = refused(program)
    assert (error.fault, error.instruction) == (fault, 1)


def test_every_fault_of_one_instruction_is_tested() -> None:
    dynamic = {Fault.TOKEN_OVERFLOW, Fault.BUS_READ, Fault.BUS_WRITE, Fault.BUS_TIMEOUT}
    static = {fault for fault in Fault if Fault.NONE < fault < Fault.AFTER_FINISH}
    assert {fault for _, fault, _ in ILLEGAL} == static - dynamic


def test_after_finish() -> None:
    with pytest.raises(ProgramError, match=r"^instruction 2: LOAD after FINISH: .*AFTER_FINISH"):
        validate(program_of(LOAD, Finish(), LOAD, Finish()))
    error = refused(program_of(Finish(), Finish()))
    assert (error.fault, error.instruction) == (Fault.AFTER_FINISH, 1)


def test_no_finish() -> None:
    with pytest.raises(ProgramError, match=r"^program: it has no FINISH.* \[NO_FINISH\]$"):
        validate(program_of(LOAD))
    assert refused(program_of(LOAD)).instruction is None


def test_earliest_instruction_first_then_least_fault() -> None:
    late = replace(LOAD, memory=MemoryId.OUT)
    early = replace(STORE, y_size=0, x_pad_0=1, tokens=Tokens(pop_next=True))
    error = refused(program_of(LOAD, early, late, b"\x07" + bytes(15)))
    assert (error.fault, error.instruction) == (Fault.STORE_PAD, 1)
    both = program_of(Finish(), replace(ALU, imm=40))
    assert refused(both).fault is Fault.SHIFT


# Against rules written out ------------------------------------------------------------------


def broken(config: HardwareConfig, one: Instruction, mode: Requantise | None = None) -> set[Fault]:
    """The faults of one instruction behind the REQUANTISE `mode`, straight from the instruction
    set's description."""
    faults = set()
    match one:
        case Load() | Store():
            rows = one.y_pad_0 + one.y_size + one.y_pad_1
            width = one.x_pad_0 + one.x_size + one.x_pad_1
            pads = one.y_pad_0 + one.y_pad_1 + one.x_pad_0 + one.x_pad_1
            store = isinstance(one, Store)
            if store and one.memory is not MemoryId.OUT:
                faults.add(Fault.STORE_MEMORY)
            if not store and one.memory is MemoryId.OUT:
                faults.add(Fault.LOAD_OUT)
            if one.x_size and store and pads:
                faults.add(Fault.STORE_PAD)
            if one.x_size and not one.y_size:
                faults.add(Fault.NO_ROWS)
            if one.x_size and one.sram_base + rows * width > config.depth(one.memory):
                faults.add(Fault.SRAM_RANGE)
            if isinstance(one, Load) and one.coding and one.memory is not MemoryId.WGT_CODES:
                faults.add(Fault.FEATURE)
        case Gemm() | Alu():
            if not one.iter_out or not one.iter_in:
                faults.add(Fault.LOOP_COUNT)
            if not one.uop_bgn < one.uop_end <= config.depth(MemoryId.UOP):
                faults.add(Fault.UOP_RANGE)
            if isinstance(one, Alu) and one.op is AluOp.SHR and one.use_imm:
                faults |= {Fault.SHIFT} if not -31 <= one.imm <= 31 else set()
            faults |= index_fault(config, one, mode)
            if isinstance(one, Alu):
                residual = one.op is AluOp.RESIDUAL
                if (one.from_inp and one.use_imm) or (residual and not one.from_inp):
                    faults.add(Fault.FEATURE)
        case Finish() | Requantise() | Table():
            pass
    prev = one.tokens.pop_prev or one.tokens.push_prev
    following = one.tokens.pop_next or one.tokens.push_next
    unit = unit_of(one)
    if (unit is Unit.LOAD and prev) or (unit is Unit.STORE and following):
        faults.add(Fault.TOKEN_FLAG)
    return faults


def index_fault(config: HardwareConfig, one: Gemm | Alu, mode: Requantise | None) -> set[Fault]:
    if mode is not None and mode.active:
        last_out = (one.iter_out - 1) * mode.par_factor_out
        last = mode.par_base + last_out + (one.iter_in - 1) * mode.par_factor_in
        if last >= config.depth(MemoryId.PAR):
            return {Fault.SRAM_INDEX}
    used = [("dst", MemoryId.ACC)]
    match one:
        case Gemm(reset=False):
            used += [("src", MemoryId.INP), ("wgt", MemoryId.WGT)]
        case Alu(use_imm=False):
            used += [("src", MemoryId.INP if one.from_inp else MemoryId.ACC)]
    for name, memory in used:
        outer = (one.iter_out - 1) * int(getattr(one, f"{name}_factor_out"))
        inner = (one.iter_in - 1) * int(getattr(one, f"{name}_factor_in"))
        if outer + inner >= config.depth(memory):
            return {Fault.SRAM_INDEX}
    return set()


@given(data=st.data())
def test_against_rules_written_out(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn = data.draw(st.lists(instructions(config), min_size=1, max_size=3))
    drawn = [replace(one, tokens=Tokens()) if isinstance(one, Finish) else one for one in drawn]
    finished = False
    expected = mode = None
    for position, one in enumerate(drawn):
        mode = one if isinstance(one, Requantise) else mode
        faults = broken(config, one, mode) | ({Fault.AFTER_FINISH} if finished else set())
        if faults:
            expected = (position, min(faults))
            break
        finished |= isinstance(one, Finish)
    assert instruction_fault(Program.from_instructions(config, drawn)) == expected


def instruction_fault(program: Program) -> tuple[int | None, Fault] | None:
    """Where and why `program` is refused, unless it is as a whole."""
    try:
        validate(program)
    except ProgramError as error:
        whole = error.fault > Fault.AFTER_FINISH
        return None if whole else (error.instruction, error.fault)
    return None


MUTATED = st.sampled_from(
    ["sram_base", "y_size", "x_size", "y_pad_0", "x_pad_1", "uop_end", "iter_in", "dst_factor_out"]
)


@given(data=st.data(), seed=st.integers(0, 1000), name=MUTATED)
def test_one_field_changed(data: st.DataObject, seed: int, name: str) -> None:
    legal = list(random_program(TINY, seed, 20, 1 << 14).program)
    validate(Program.from_instructions(TINY, legal))
    position = data.draw(st.integers(0, len(legal) - 1))
    old = legal[position]
    if not hasattr(old, name):
        return
    top = {"y_pad_0": 15, "x_pad_1": 15, "uop_end": 127, "dst_factor_out": 31}.get(name, 70)
    value = data.draw(st.integers(0, top))
    changed = replace(old, **{name: value})  # type: ignore[arg-type]  # it has that field
    legal[position] = changed
    faults = broken(TINY, changed)
    program = Program.from_instructions(TINY, legal)
    if faults:
        error = refused(program)
        assert (error.fault, error.instruction) == (min(faults), position)
    else:
        validate(program)


# DRAM ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny", "pynq", "batch2"])
def test_dram_ranges(name: str) -> None:
    config = load_config(name)
    program = random_program(config, seed=5, size=80).program
    ranges = dram_ranges(program)
    uops = np.zeros(config.depth(MemoryId.UOP), np.uint32)
    for position, one in enumerate(program):
        here = (int(ranges.first[position]), int(ranges.end[position]))
        if not isinstance(one, Load | Store) or one.x_size == 0:
            assert here == (0, 0)
            assert ranges.memory[position] == -1
            assert not ranges.is_write[position]
            continue
        (indices,) = [t.indices for t in touches(config, one, uops) if t.resource == DRAM]
        assert here == (indices[0], indices[-1] + 1)
        assert ranges.memory[position] == one.memory
        assert ranges.is_write[position] == isinstance(one, Store)


def test_dram_beyond_32_bits() -> None:
    far = replace(LOAD, memory=MemoryId.WGT, dram_base=2**32 - 1, y_size=2, x_stride=65535)
    ranges = dram_ranges(program_of(far, Finish()))
    assert ranges.first[0] == (2**32 - 1) * 256
    assert ranges.end[0] == (2**32 - 1 + 65535 + 1) * 256

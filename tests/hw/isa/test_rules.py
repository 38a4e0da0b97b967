"""The mask of each rule: the instructions that break it, among those that just do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import (
    AluOp,
    Coding,
    Finish,
    Instruction,
    MemoryId,
    Program,
    Requantise,
    Table,
    Tokens,
    Unit,
    encode,
)
from tandem.hw.isa.rules import broken_rules, rule_inputs, sram_elements
from tests.support.hw.custom_operations import OPERATIONS, machine
from tests.support.hw.instructions import ALU, GEMM, LOAD, STORE

PYNQ = load_config("pynq")
"""UOP has 8192 elements, INP and ACC have 2048, WGT has 1024."""
EXTENDED = PYNQ.replace(name="extended", features=frozenset(Feature))
"""PAR has 64 elements."""
TABLE = Table(entries_low=0, entries_high=0)
Word = Instruction | bytes


def program_of(config: HardwareConfig, *words: Word) -> Program:
    parts = [word if isinstance(word, bytes) else encode(config, word) for word in words]
    return Program(config, b"".join(parts))


def broken(config: HardwareConfig, *words: Word) -> dict[Fault, list[int]]:
    """By rule that some instruction breaks, the positions of those that do."""
    masks = broken_rules(rule_inputs(config, program_of(config, *words).columns()))
    return {rule: np.flatnonzero(mask).tolist() for rule, mask in masks.items() if mask.any()}


def tokens(**flags: bool) -> Tokens:
    return Tokens(**flags)


CASES: list[tuple[HardwareConfig, tuple[Word, ...], dict[Fault, list[int]]]] = [
    (
        PYNQ,
        (b"\x04" + bytes(15), b"\x05" + bytes(15), b"\x06" + bytes(15), b"\x07" + bytes(15)),
        {Fault.OPCODE: [1, 2, 3], Fault.LOOP_COUNT: [0], Fault.UOP_RANGE: [0]},
    ),
    (EXTENDED, (b"\x05" + bytes(15), b"\x06" + bytes(15)), {}),
    (
        PYNQ,
        (
            b"\x80\x02" + bytes(14),
            b"\x00\x03" + bytes(14),
            b"\x80\x03" + bytes(14),
            # One row of one element, of a memory without a depth.
            b"\x00\x03" + bytes(6) + b"\x01\x00\x01" + bytes(5),
        ),
        {Fault.MEMORY_ID: [1, 2, 3]},
    ),
    (
        PYNQ,
        (STORE, replace(LOAD, memory=MemoryId.OUT), replace(LOAD, memory=MemoryId.ACC)),
        {Fault.LOAD_OUT: [1]},
    ),
    (
        PYNQ,
        (replace(STORE, memory=MemoryId.ACC), STORE, replace(LOAD, memory=MemoryId.UOP)),
        {Fault.STORE_MEMORY: [0]},
    ),
    (
        PYNQ,
        (
            replace(STORE, y_pad_0=1),
            replace(STORE, y_pad_1=1),
            replace(STORE, x_pad_0=1),
            replace(STORE, x_pad_1=1),
            replace(STORE, x_size=0, x_pad_1=1),
            replace(LOAD, x_pad_0=1),
            STORE,
        ),
        {Fault.STORE_PAD: [0, 1, 2, 3]},
    ),
    (
        PYNQ,
        (replace(LOAD, y_size=0), replace(LOAD, y_size=0, x_size=0), replace(STORE, y_size=0)),
        {Fault.NO_ROWS: [0, 2]},
    ),
    (
        PYNQ,
        (
            replace(GEMM, iter_out=0),
            replace(GEMM, iter_in=0),
            replace(ALU, iter_out=0),
            replace(ALU, iter_in=0),
            GEMM,
            ALU,
        ),
        {Fault.LOOP_COUNT: [0, 1, 2, 3]},
    ),
    (
        PYNQ,
        (
            replace(GEMM, uop_bgn=8191, uop_end=8192),
            replace(GEMM, uop_bgn=8191, uop_end=8193),
            replace(ALU, uop_bgn=7, uop_end=7),
            replace(ALU, uop_bgn=7, uop_end=6),
            replace(ALU, uop_bgn=7, uop_end=8),
        ),
        {Fault.UOP_RANGE: [1, 2, 3]},
    ),
    (
        PYNQ,
        (
            replace(ALU, imm=31),
            replace(ALU, imm=32),
            replace(ALU, imm=-31),
            replace(ALU, imm=-32),
            replace(ALU, imm=32, op=AluOp.ADD),
            replace(ALU, imm=32, use_imm=False),
        ),
        {Fault.SHIFT: [1, 3]},
    ),
    (
        PYNQ,
        (
            replace(LOAD, sram_base=2047),
            replace(LOAD, sram_base=2048),
            replace(LOAD, sram_base=2048, x_size=0),
            replace(STORE, sram_base=2046, x_size=2),
            replace(STORE, sram_base=2046, x_size=3),
            replace(LOAD, memory=MemoryId.WGT, sram_base=1023),
            replace(LOAD, memory=MemoryId.WGT, sram_base=1024),
        ),
        {Fault.SRAM_RANGE: [1, 4, 6]},
    ),
    (
        PYNQ,
        (
            replace(LOAD, tokens=tokens(pop_next=True, push_next=True)),
            replace(LOAD, tokens=tokens(pop_prev=True)),
            replace(LOAD, tokens=tokens(push_prev=True)),
            replace(STORE, tokens=tokens(pop_prev=True, push_prev=True)),
            replace(STORE, tokens=tokens(pop_next=True)),
            replace(STORE, tokens=tokens(push_next=True)),
            replace(GEMM, tokens=tokens(pop_prev=True, pop_next=True, push_next=True)),
            replace(LOAD, memory=MemoryId.UOP, tokens=tokens(pop_prev=True, push_next=True)),
            b"\x7f" + bytes(15),
        ),
        {Fault.TOKEN_FLAG: [1, 2, 4, 5], Fault.OPCODE: [8]},
    ),
    (
        EXTENDED,
        (
            replace(ALU, op=AluOp.RESIDUAL, use_imm=False, from_inp=True),
            replace(ALU, op=AluOp.RESIDUAL, use_imm=False),
            replace(ALU, op=AluOp.ADD, from_inp=True),
            replace(ALU, op=AluOp.ADD, use_imm=False, from_inp=True),
            replace(ALU, op=AluOp.ADD, from_inp=False),
        ),
        {Fault.FEATURE: [1, 2]},
    ),
    (
        EXTENDED,
        (
            replace(LOAD, memory=MemoryId.WGT_CODES, coding=Coding.BITS_2),
            replace(LOAD, coding=Coding.BITS_2),
            LOAD,
            (1 << 127 | 5).to_bytes(16, "little"),
            (6).to_bytes(16, "little"),
        ),
        {Fault.FEATURE: [1, 3]},
    ),
    (
        EXTENDED,
        (
            Requantise(active=True, par_base=62, par_factor_out=1, par_factor_in=1),
            replace(GEMM, iter_in=2),
            replace(GEMM, iter_in=2, iter_out=2),
            replace(ALU, iter_out=3),
            Requantise(active=False, par_base=63, par_factor_in=1),
            replace(GEMM, iter_in=9),
        ),
        {Fault.SRAM_INDEX: [2, 3]},
    ),
    (
        PYNQ,
        (
            replace(GEMM, iter_out=3, dst_factor_out=1023, iter_in=2, dst_factor_in=1),
            replace(GEMM, iter_out=3, dst_factor_out=1023, iter_in=2, dst_factor_in=2),
            replace(GEMM, iter_in=2, wgt_factor_in=1023),
            replace(GEMM, iter_in=2, wgt_factor_in=1023, iter_out=2, wgt_factor_out=1),
            replace(GEMM, iter_in=2, wgt_factor_in=1023, iter_out=2, wgt_factor_out=1, reset=True),
            replace(GEMM, iter_in=3, src_factor_in=1024),
            replace(ALU, iter_in=3, src_factor_in=1024),
            replace(ALU, iter_in=3, src_factor_in=1024, use_imm=False),
        ),
        {Fault.SRAM_INDEX: [1, 3, 5, 7]},
    ),
    (PYNQ, (LOAD, Finish(), LOAD, Finish()), {Fault.AFTER_FINISH: [2, 3]}),
    (PYNQ, (LOAD, GEMM), {}),
]


@pytest.mark.parametrize(("config", "words", "expected"), CASES)
def test_positions_that_break_rules(
    config: HardwareConfig, words: tuple[Word, ...], expected: dict[Fault, list[int]]
) -> None:
    assert broken(config, *words) == expected


def test_rules_come_in_the_order_of_their_faults() -> None:
    found = list(broken_rules(rule_inputs(PYNQ, program_of(PYNQ, LOAD).columns())))
    assert found == sorted({fault for _, _, expected in CASES for fault in expected})


def test_custom_operations_take_an_immediate_where_they_have_parameters() -> None:
    """CLIP has parameters and a second operand, WIDE no parameters."""
    config = machine((*OPERATIONS[:2], ("ALONE", "a + 1", {})), 2)
    clip, wide, alone = config.alu_operations
    own = [replace(ALU, op=op, use_imm=imm) for op in (clip, wide, alone) for imm in (True, False)]
    assert broken(config, *own) == {Fault.FEATURE: [0, 5]}
    nobody = int.from_bytes(encode(PYNQ, ALU), "little") | 6 << 108
    words = (ALU, nobody.to_bytes(16, "little"))
    assert broken(PYNQ, *words) == {Fault.FEATURE: [1]}


def test_elements_that_a_move_covers() -> None:
    padded = replace(LOAD, y_size=3, x_size=4, y_pad_0=1, y_pad_1=2, x_pad_0=5, x_pad_1=6)
    program = program_of(PYNQ, padded, replace(padded, x_size=0), STORE, GEMM)
    assert sram_elements(program.columns()).tolist() == [6 * 15, 0, 1, 0]


def test_what_rules_are_stated_over() -> None:
    words = (
        replace(LOAD, sram_base=7, x_size=3),
        replace(STORE, x_size=0, sram_base=5),
        GEMM,
        ALU,
        b"\x00\x03" + bytes(14),
    )
    facts = rule_inputs(PYNQ, program_of(PYNQ, *words).columns())
    assert facts.units.tolist()[:4] == [Unit.LOAD, Unit.STORE, Unit.COMPUTE, Unit.COMPUTE]
    assert facts.load.tolist() == [True, False, False, False, True]
    assert facts.store.tolist() == [False, True, False, False, False]
    assert facts.gemm.tolist() == [False, False, True, False, False]
    assert facts.alu.tolist() == [False, False, False, True, False]
    assert facts.moves.tolist() == [True, False, False, False, False]
    assert facts.reach.tolist()[:2] == [10, 5]
    assert facts.depth.tolist() == [2048, 2048, 8192, 8192, 0]

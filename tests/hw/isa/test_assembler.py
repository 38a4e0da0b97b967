"""Programs written by hand."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from typing import Any

import pytest

import tandem.hw.isa.assembler
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import AssemblyError, EncodingError
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Assembler,
    Coding,
    Finish,
    Gemm,
    Instruction,
    Load,
    Loop,
    MemoryId,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
    Unit,
    decode_uop,
    pack_uops,
    unit_of,
)
from tests.support.hw.vectors import load_vector, vector_names

PYNQ = load_config("pynq")
EXTENDED = PYNQ.replace(name="extended", features=frozenset(Feature))


def only(write: Callable[[Assembler], object], config: HardwareConfig = PYNQ) -> Instruction:
    asm = Assembler(config)
    write(asm)
    return asm.build()[0]


def test_the_example_in_the_docstring() -> None:
    results = doctest.testmod(tandem.hw.isa.assembler, raise_on_error=False)
    assert results.attempted > 10
    assert results.failed == 0


def test_load() -> None:
    written = only(
        lambda asm: asm.load(
            MemoryId.INP,
            sram=1,
            dram=2,
            rows=3,
            columns=4,
            stride=0,
            pad=(5, 6, 7, 8),
            waits_for=Unit.COMPUTE,
            signals=Unit.COMPUTE,
        )
    )
    assert written == Load(
        memory=MemoryId.INP,
        sram_base=1,
        dram_base=2,
        y_size=3,
        x_size=4,
        x_stride=0,
        y_pad_0=5,
        y_pad_1=6,
        x_pad_0=7,
        x_pad_1=8,
        tokens=Tokens(pop_next=True, push_next=True),
    )


def test_store_is_dense_unless_told() -> None:
    written = only(lambda asm: asm.store(sram=1, dram=2, columns=9, waits_for=[Unit.COMPUTE]))
    assert written == Store(
        memory=MemoryId.OUT,
        sram_base=1,
        dram_base=2,
        y_size=1,
        x_size=9,
        x_stride=9,
        tokens=Tokens(pop_prev=True),
    )


def test_gemm_with_no_one_and_two_loops() -> None:
    inner = Loop(5, dst=6, src=7, wgt=8)
    outer = Loop(2, dst=1, src=3, wgt=4)

    def gemm(loops: list[Loop]) -> Gemm:
        written = only(lambda asm: asm.gemm((9, 11), loops, waits_for=[Unit.LOAD, Unit.STORE]))
        assert isinstance(written, Gemm)
        assert (written.uop_bgn, written.uop_end, written.reset) == (9, 11, False)
        assert written.tokens == Tokens(pop_prev=True, pop_next=True)
        return written

    assert (gemm([]).iter_out, gemm([]).iter_in) == (1, 1)
    assert (gemm([inner]).iter_out, gemm([inner]).iter_in, gemm([inner]).src_factor_in) == (1, 5, 7)
    both = gemm([outer, inner])
    assert (both.iter_out, both.iter_in) == (2, 5)
    assert (both.dst_factor_out, both.src_factor_out, both.wgt_factor_out) == (1, 3, 4)
    assert (both.dst_factor_in, both.src_factor_in, both.wgt_factor_in) == (6, 7, 8)


def test_alu_with_and_without_an_immediate() -> None:
    immediate = only(lambda asm: asm.alu(AluOp.MAX, (0, 1), [Loop(4, dst=1, src=2)], imm=0))
    assert isinstance(immediate, Alu)
    assert (immediate.op, immediate.use_imm, immediate.imm) == (AluOp.MAX, True, 0)
    assert (immediate.iter_in, immediate.dst_factor_in, immediate.src_factor_in) == (4, 1, 2)
    tensor = only(lambda asm: asm.alu(AluOp.ADD, (0, 1), signals=(Unit.STORE, Unit.LOAD)))
    assert isinstance(tensor, Alu)
    assert not tensor.use_imm
    assert tensor.tokens == Tokens(push_prev=True, push_next=True)


def test_operands_from_inp() -> None:
    written = only(lambda asm: asm.alu(AluOp.RESIDUAL, (0, 1), from_inp=True), EXTENDED)
    assert isinstance(written, Alu)
    assert (written.op, written.use_imm, written.from_inp) == (AluOp.RESIDUAL, False, True)


def test_requantisation() -> None:
    written = only(
        lambda asm: asm.requantise(
            5, (6, 7), low=-1, high=2, scale=3, waits_for=Unit.LOAD, signals=Unit.STORE
        ),
        EXTENDED,
    )
    assert written == Requantise(
        active=True,
        low=-1,
        high=2,
        scale=3,
        par_base=5,
        par_factor_out=6,
        par_factor_in=7,
        tokens=Tokens(pop_prev=True, push_next=True),
    )
    assert only(lambda asm: asm.requantise(0), EXTENDED) == Requantise(active=True)
    ended = only(lambda asm: asm.end_requantisation(signals=Unit.LOAD), EXTENDED)
    assert ended == Requantise(active=False, tokens=Tokens(push_prev=True))


def test_tables_and_codes() -> None:
    asm = Assembler(EXTENDED)
    entries = (*range(-8, 8),)
    assert asm.table(entries, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE) == (0, 1)
    assert asm.table([1, -1]) == (2,)
    asm.load(MemoryId.WGT_CODES, sram=0, dram=0, columns=1, coding=Coding.BITS_4_SCALED)
    lower, upper, short, load = asm.build()
    assert isinstance(lower, Table)
    assert isinstance(upper, Table)
    assert (lower.upper_half, upper.upper_half) == (False, True)
    assert lower.entries + upper.entries == entries
    assert (lower.tokens, upper.tokens) == (Tokens(pop_next=True), Tokens(push_next=True))
    assert short == Table(entries_low=0xFF01, entries_high=0)
    assert isinstance(load, Load)
    assert load.coding is Coding.BITS_4_SCALED
    assert only(lambda asm: asm.load(MemoryId.INP, sram=0, dram=0, columns=1)) == Load(
        memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1
    )


@pytest.mark.parametrize("unit", Unit)
def test_nop_runs_where_it_should(unit: Unit) -> None:
    written = only(lambda asm: asm.nop(unit))
    assert isinstance(written, Load | Store)
    assert written.x_size == 0
    assert unit_of(written) is unit


def test_indices_and_length() -> None:
    asm = Assembler(PYNQ)
    assert (asm.nop(Unit.LOAD), asm.finish()) == (0, 1)
    assert len(asm) == 2
    assert list(asm.build())[1] == Finish()


def test_pack_uops() -> None:
    uops = [MicroOp(1, 2, 3), MicroOp(2047, 2047, 1023)]
    data = pack_uops(PYNQ, uops)
    assert [decode_uop(PYNQ, data[at : at + 4]) for at in (0, 4)] == uops


@pytest.mark.parametrize("name", vector_names()[::9])
def test_vectors_can_be_written(name: str) -> None:
    vector = load_vector(name)
    asm = Assembler(vector.config)
    for instruction in vector.program:
        asm.append(instruction)
    assert asm.build() == vector.program


REFUSALS: list[tuple[Callable[[Assembler], object], str]] = [
    (
        lambda asm: asm.load(MemoryId.INP, sram=0, dram=0, columns=1, signals=Unit.STORE),
        "load cannot signal store: it has token queues with compute only",
    ),
    (
        lambda asm: asm.store(sram=0, dram=0, columns=1, waits_for=Unit.LOAD),
        "store cannot wait for load: it has token queues with compute only",
    ),
    (
        lambda asm: asm.gemm((0, 1), waits_for=Unit.COMPUTE),
        "compute cannot wait for compute: it has token queues with load or store only",
    ),
    (
        lambda asm: asm.load(MemoryId.ACC, sram=0, dram=0, columns=1, signals=Unit.COMPUTE),
        "compute cannot signal compute: it has token queues with load or store only",
    ),
    (
        lambda asm: asm.gemm((0, 1), [Loop(1), Loop(1), Loop(1)]),
        "3 loops: an instruction has two",
    ),
    (
        lambda asm: asm.alu(AluOp.ADD, (0, 1), [Loop(2, wgt=1)], imm=1),
        r"an ALU loop has no wgt factor \(reads no weights\)",
    ),
    (
        lambda asm: asm.load(MemoryId.INP, sram=0, dram=0, columns=1, pad=(16, 0, 0, 0)),
        r"LOAD y_pad_0 is 16: it must lie in 0\.\.15",
    ),
    (
        lambda asm: asm.gemm((0, 1), [Loop(16384)]),
        r"GEMM iter_in is 16384: it must lie in 0\.\.16383",
    ),
    (
        lambda asm: asm.gemm((0, 1), overwrite=True),
        "GEMM overwrite is an extension that pynq lacks: its features must have 'overwrite'",
    ),
    (
        lambda asm: asm.requantise(0),
        "REQUANTISE is an extension that pynq lacks: its features must have 'requantise'",
    ),
    (
        lambda asm: asm.end_requantisation(),
        "REQUANTISE is an extension that pynq lacks: its features must have 'requantise'",
    ),
    (
        lambda asm: asm.load(MemoryId.PAR, sram=0, dram=0, columns=1),
        "LOAD of PAR is an extension that pynq lacks: its features must have 'requantise'",
    ),
    (
        lambda asm: asm.load(MemoryId.WGT_CODES, sram=0, dram=0, columns=1),
        "LOAD of WGT_CODES is an extension that pynq lacks: "
        "its features must have 'compressed_weights'",
    ),
    (
        lambda asm: asm.load(MemoryId.WGT, sram=0, dram=0, columns=1, coding=Coding.BITS_4),
        "LOAD coding is an extension that pynq lacks: its features must have 'compressed_weights'",
    ),
    (
        lambda asm: asm.table([1, -1]),
        "TABLE is an extension that pynq lacks: its features must have 'compressed_weights'",
    ),
    (lambda asm: asm.table([]), r"a table of \[\]: it has 1 to 16 int8 entries"),
    (lambda asm: asm.table([128]), r"a table of \[128\]: it has 1 to 16 int8 entries"),
    (
        lambda asm: asm.alu(AluOp.ADD, (0, 1), from_inp=True),
        "ALU from_inp is an extension that pynq lacks: its features must have 'input_operands'",
    ),
    (
        lambda asm: asm.alu(AluOp.MOVE, (0, 1), imm=0),
        "ALU MOVE is an extension that pynq lacks: its features must have 'input_operands'",
    ),
    (
        lambda asm: asm.alu(AluOp.RESIDUAL, (0, 1)),
        "ALU RESIDUAL is an extension that pynq lacks: "
        "its features must have 'input_operands' and 'requantise'",
    ),
]


@pytest.mark.parametrize(("write", "message"), REFUSALS)
def test_refusals(write: Callable[[Assembler], object], message: str) -> None:
    asm = Assembler(PYNQ)
    asm.nop(Unit.LOAD)
    with pytest.raises(AssemblyError, match=rf"^instruction 1: {message}$"):
        write(asm)
    assert len(asm) == 1


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda asm: asm.requantise(64), r"REQUANTISE par_base is 64: it must lie in 0\.\.63"),
        (lambda asm: asm.requantise(0, low=-129), r"REQUANTISE low is -129: .* -128\.\.127"),
        (lambda asm: asm.requantise(0, high=128), r"REQUANTISE high is 128: .* -128\.\.127"),
        (lambda asm: asm.requantise(0, scale=-1), r"REQUANTISE scale is -1: .* 0\.\.16777215"),
        (lambda asm: asm.requantise(0, (64, 0)), r"REQUANTISE par_factor_out is 64: .*"),
        (lambda asm: asm.requantise(0, (0, -1)), r"REQUANTISE par_factor_in is -1: .*"),
    ],
)
def test_refusals_with_extensions(write: Callable[[Assembler], object], message: str) -> None:
    with pytest.raises(AssemblyError, match=rf"^instruction 0: {message}$"):
        write(Assembler(EXTENDED))


def test_refuses_a_unit_that_is_none() -> None:
    wrong: Any = ["load"]
    with pytest.raises(AssemblyError, match=r"compute cannot wait for 'load': "):
        Assembler(PYNQ).gemm((0, 1), waits_for=wrong)


@pytest.mark.parametrize("wrong", [None, "load", 1])
def test_refuses_what_is_neither_a_unit_nor_several(wrong: Any) -> None:
    message = re.escape(f"instruction 0: compute cannot signal {wrong!r}: that is a Unit, several ")
    with pytest.raises(AssemblyError, match=message):
        Assembler(PYNQ).gemm((0, 1), signals=wrong)


def test_refuses_an_empty_program() -> None:
    with pytest.raises(EncodingError, match="empty program"):
        Assembler(PYNQ).build()

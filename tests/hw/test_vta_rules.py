"""`hw.vta_rules`: which programs of ours are none of VTA's, and what the warnings say."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.errors import EncodingError
from tandem.hw.features import BASE, Feature
from tandem.hw.isa import Assembler, Program, unit_of
from tandem.hw.operations import AluOp
from tandem.hw.topology import BASE_REGISTERS, MemoryId, Unit
from tandem.hw.vta_rules import HLS_SHIFTS, VtaRule, vta_warnings
from tests.support.hw.vectors import load_vector, vector_names

TINY = load_config("tiny")
PAGE = 4096
FREE = PAGE // 4
"""The first element of INP and OUT, of 4 bytes each, behind page 0."""


def program(build: Callable[[Assembler], object]) -> Program:
    asm = Assembler(TINY)
    build(asm)
    return asm.build()


def told(build: Callable[[Assembler], object]) -> list[str]:
    return [str(each) for each in vta_warnings(program(build))]


def stored(asm: Assembler, *, signals: bool = True) -> None:
    """A STORE of an accumulator that is loaded before."""
    dram = PAGE // TINY.element_bytes(MemoryId.ACC)
    asm.load(MemoryId.ACC, sram=0, dram=dram, columns=1, signals=Unit.STORE)
    back = [Unit.COMPUTE] * signals
    asm.store(sram=0, dram=2 * FREE, columns=1, waits_for=Unit.COMPUTE, signals=back)


# The end ------------------------------------------------------------------------------------


def test_compute_waits_for_the_last_store_and_ends() -> None:
    def waits(asm: Assembler) -> None:
        stored(asm)
        asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
        asm.finish()

    assert told(waits) == []


def test_finish_itself_may_wait() -> None:
    def waits(asm: Assembler) -> None:
        stored(asm)
        asm.finish(waits_for=Unit.STORE)

    assert told(waits) == []


def test_nothing_waits_for_the_store() -> None:
    def runs_on(asm: Assembler) -> None:
        stored(asm, signals=False)
        asm.finish()

    (found,) = vta_warnings(program(runs_on))
    assert (found.rule, found.instructions) == (VtaRule.END, (1,))
    assert str(found) == (
        "VTA ends a program at FINISH, instruction 2: compute must pop a token of the last "
        "instruction of store, 1, before; the tokens that it pops cover none of them"
    )


def test_a_token_of_an_earlier_store_does_not_do() -> None:
    def too_early(asm: Assembler) -> None:
        stored(asm)
        asm.store(sram=0, dram=3 * FREE, columns=1)
        asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
        asm.finish()

    (found,) = told(too_early)
    assert "the last instruction of store, 2, before" in found
    assert found.endswith("cover instructions of that unit up to 1")


def test_an_empty_store_counts_too() -> None:
    """VTA's simulator never ends if anything executes after FINISH."""

    def waits_for_the_other(asm: Assembler) -> None:
        stored(asm)
        asm.nop(Unit.STORE)
        asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
        asm.finish()

    assert len(told(waits_for_the_other)) == 1


def test_a_load_that_nobody_waits_for() -> None:
    def loads(asm: Assembler) -> None:
        asm.load(MemoryId.INP, sram=0, dram=FREE, columns=1)
        asm.finish()

    (found,) = told(loads)
    assert "the last instruction of load, 0, before" in found


def test_without_a_finish_that_starts_there_is_no_end() -> None:
    def stuck(asm: Assembler) -> None:
        stored(asm, signals=False)
        asm.finish(waits_for=Unit.LOAD)

    assert told(stuck) == []
    assert told(lambda asm: stored(asm)) == []


@given(st.randoms(use_true_random=False))
def test_the_end_against_all_orders(rng: random.Random) -> None:
    """Run with FINISH as early as its tokens let it: a warning tells that others still wait."""
    asm = Assembler(TINY)
    tokens = {Unit.LOAD: 0, Unit.STORE: 0}
    for _ in range(rng.randrange(1, 9)):
        unit = rng.choice([Unit.LOAD, Unit.STORE, Unit.COMPUTE])
        if unit is Unit.COMPUTE:
            pops = [other for other in tokens if tokens[other] and rng.random() < 0.7]
            for other in pops:
                tokens[other] -= 1
            asm.nop(unit, waits_for=pops)
        else:
            pushes = rng.random() < 0.6
            tokens[unit] += pushes
            asm.nop(unit, signals=[Unit.COMPUTE] * pushes)
    asm.finish()
    code = asm.build()
    late = {unit_of(code[each.instructions[0]]) for each in vta_warnings(code)}
    assert late == _running_at_finish(code)


def _running_at_finish(code: Program) -> set[Unit]:
    """The units with instructions left when compute, which others hurry for alone, is done."""
    queues = {unit: [each for each in code if unit_of(each) is unit] for unit in Unit}
    for instruction in queues[Unit.COMPUTE]:
        tokens = instruction.tokens
        for unit, pops in ((Unit.LOAD, tokens.pop_prev), (Unit.STORE, tokens.pop_next)):
            while pops:
                done = queues[unit].pop(0).tokens
                pops = not (done.push_next if unit is Unit.LOAD else done.push_prev)
    return {unit for unit in (Unit.LOAD, Unit.STORE) if queues[unit]}


# Page 0 -------------------------------------------------------------------------------------


def in_page_0(asm: Assembler) -> None:
    asm.load(MemoryId.UOP, sram=0, dram=FREE - 1, columns=4)
    asm.load(MemoryId.UOP, sram=0, dram=FREE, columns=4)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=0)
    asm.load(MemoryId.ACC_8BIT, sram=0, dram=0, columns=0)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.finish()


def test_what_lies_in_page_0() -> None:
    """Instructions without data access no memory."""
    found = [each for each in vta_warnings(program(in_page_0)) if each.rule is VtaRule.PAGE_0]
    assert [each.instructions for each in found] == [(0, 4)]
    assert str(found[0]) == (
        "VTA's memory has no page 0, the bytes below 0x1000: instruction 0 loads from 0xffc "
        "(and 1 more alike)"
    )


def test_stores_to_page_0() -> None:
    def stores(asm: Assembler) -> None:
        asm.store(sram=0, dram=2, columns=1, signals=Unit.COMPUTE)
        asm.finish(waits_for=Unit.STORE)

    assert [each.partition(": ")[2] for each in told(stores)] == ["instruction 0 stores to 0x8"]


def test_base_registers_count() -> None:
    code = program(in_page_0)
    bases = [0] * BASE_REGISTERS
    bases[MemoryId.UOP] = PAGE
    assert not [each for each in vta_warnings(code, bases=bases) if each.rule is VtaRule.PAGE_0]
    bases[MemoryId.UOP] = 2
    with pytest.raises(EncodingError, match="UOP"):
        vta_warnings(code, bases=bases)


def test_the_program_itself_in_page_0() -> None:
    code = program(lambda asm: asm.finish())
    (found,) = vta_warnings(code, program_bytes=range(0xFF0, 0x1000))
    assert (found.rule, found.instructions) == (VtaRule.PAGE_0, ())
    assert str(found).endswith(": the program lies at 0xff0")
    assert not vta_warnings(code, program_bytes=range(0x1000, 0x1010))


# Operations ---------------------------------------------------------------------------------


def alu(op: AluOp, imm: int | None = None) -> Callable[[Assembler], None]:
    def build(asm: Assembler) -> None:
        asm.alu(op, (0, 1), imm=imm)
        asm.finish()

    return build


@pytest.mark.parametrize("op", [op for op in AluOp if op.needs == BASE])
@pytest.mark.parametrize("imm", [None, 3])
def test_operations(op: AluOp, imm: int | None) -> None:
    found = vta_warnings(program(alu(op, imm)))
    assert [each.rule for each in found] == [VtaRule.OPERATION] * (op is AluOp.MUL)


def test_opcode_4_is_another_operation_there() -> None:
    assert told(alu(AluOp.MUL)) == [
        "VTA's Chisel and HLS have no MUL (ALU opcode 4, which is SHL in Chisel's ALU): "
        "instruction 0"
    ]


@pytest.mark.parametrize("amount", [-31, -17, -16, 0, 15, 16, 31])
def test_shifts(amount: int) -> None:
    found = vta_warnings(program(alu(AluOp.SHR, amount)))
    assert [each.rule for each in found] == [VtaRule.SHIFT] * (amount not in HLS_SHIFTS)
    if found:
        assert str(found[0]) == (
            "VTA's HLS takes five signed bits of a shift, -16..15: "
            f"instruction 0 shifts by {amount}"
        )


def test_immediates_of_others_are_no_shifts() -> None:
    assert told(alu(AluOp.ADD, 17)) == []
    assert told(alu(AluOp.SHR)) == []


def test_bytes_that_become_accumulators() -> None:
    def loads(asm: Assembler) -> None:
        for _ in range(3):
            asm.load(MemoryId.ACC_8BIT, sram=0, dram=FREE, columns=1)
        asm.finish()

    assert told(loads) == [
        "VTA's Chisel and HLS cannot load ACC_8BIT: instruction 0 (and 2 more alike)"
    ]


def test_extensions() -> None:
    asm = Assembler(load_config("pynq").replace(features=frozenset(Feature)))
    asm.load(MemoryId.PAR, sram=0, dram=FREE, columns=1)
    asm.requantise(0)
    asm.gemm((0, 1), overwrite=True)
    asm.alu(AluOp.MOVE, (0, 1), imm=3)
    asm.alu(AluOp.RESIDUAL, (0, 1), from_inp=True)
    asm.end_requantisation()
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.LOAD)

    found = vta_warnings(asm.build())

    assert {each.rule for each in found} == {VtaRule.EXTENSION}
    assert [str(each) for each in found] == [
        "VTA has no GEMM that overwrites, an extension: instruction 2",
        "VTA has no REQUANTISE, an extension: instruction 1 (and 1 more alike)",
        "VTA has no memory PAR, an extension: instruction 0",
        "VTA has no ALU operand from INP, an extension: instruction 4",
        "VTA has no ALU MOVE, an extension: instruction 3",
        "VTA has no ALU RESIDUAL, an extension: instruction 4",
    ]


@pytest.mark.parametrize("name", vector_names())
def test_programs_from_elsewhere(name: str) -> None:
    """Those that are portable break no rule; all end in order, and none uses page 0."""
    vector = load_vector(name)
    found = {each.rule for each in vta_warnings(vector.program)}
    assert not found & {VtaRule.END, VtaRule.PAGE_0}
    assert not (vector.portable and found)
    if found:
        assert vector.kind.endswith("ext")

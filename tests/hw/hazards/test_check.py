"""Every kind of hazard, with and without the tokens that order it."""

from __future__ import annotations

import pytest

from tandem.hw.hazards import check_hazards
from tandem.hw.hazards.hazard_report import HazardError
from tandem.hw.isa import Assembler, Loop, MemoryId, Program, TokenQueue, Unit
from tandem.hw.topology import BASE_REGISTERS
from tests.support.hw.hazards.hazard_steps import (
    PLACE,
    TINY,
    Step,
    alu,
    assembler,
    at,
    gemm,
    image,
    load_acc,
    load_acc_8bit,
    load_inp,
    load_uop,
    load_wgt,
    reset,
    store,
    two_steps,
)
from tests.support.hw.vectors import load_vector, vector_names

LOAD, COMPUTE, STORE = Unit
L2C, C2L, C2S, S2C = TokenQueue
INP, WGT, ACC, UOP = MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.UOP

HAZARDS: dict[str, tuple[Step, Step, MemoryId | None, int, tuple[TokenQueue, ...], str]] = {
    "INP read after write": (load_inp, gemm, INP, 5, (L2C,), "writes reads"),
    "INP write after read": (gemm, load_inp, INP, 5, (C2L,), "reads writes"),
    "WGT read after write": (load_wgt, gemm, WGT, 2, (L2C,), "writes reads"),
    "WGT write after read": (gemm, load_wgt, WGT, 2, (C2L,), "reads writes"),
    "OUT read after GEMM": (gemm, store, ACC, 3, (C2S,), "writes reads"),
    "OUT read after reset": (reset, store, ACC, 3, (C2S,), "writes reads"),
    "OUT read after ALU": (alu, store, ACC, 3, (C2S,), "writes reads"),
    "OUT read after LOAD of ACC": (load_acc, store, ACC, 3, (C2S,), "writes reads"),
    "OUT read after LOAD of ACC_8BIT": (load_acc_8bit, store, ACC, 3, (C2S,), "writes reads"),
    "GEMM after OUT read": (store, gemm, ACC, 3, (S2C,), "reads writes"),
    "reset after OUT read": (store, reset, ACC, 3, (S2C,), "reads writes"),
    "ALU after OUT read": (store, alu, ACC, 3, (S2C,), "reads writes"),
    "LOAD of ACC_8BIT after OUT read": (store, load_acc_8bit, ACC, 3, (S2C,), "reads writes"),
    "DRAM read by load after write": (store, load_inp, None, PLACE, (S2C, C2L), "writes reads"),
    "DRAM read by compute after write": (store, load_uop, None, PLACE, (S2C,), "writes reads"),
    "DRAM write after read by load": (load_wgt, store, None, PLACE, (L2C, C2S), "reads writes"),
    "DRAM write after read by compute": (load_uop, store, None, PLACE, (C2S,), "reads writes"),
}


@pytest.mark.parametrize("name", HAZARDS)
def test_hazard(name: str) -> None:
    first, second, memory, address, queues, does = HAZARDS[name]
    ordered = check_hazards(two_steps(first, second, queues), image=image())
    assert ordered.proved, ordered
    ordered.raise_if_any()

    report = check_hazards(two_steps(first, second, ()), image=image())
    (race,) = report.races
    assert (race.first, race.second) == (1, 2)
    assert (race.memory, race.address) == (memory, address)
    assert race.queues == queues
    verbs = {True: "writes", False: "reads"}
    assert f"{verbs[race.first_writes]} {verbs[race.second_writes]}" == does
    assert not report.proved
    with pytest.raises(HazardError, match=r"^race: instruction 1 \(") as caught:
        report.raise_if_any()
    assert caught.value.races == report.races


def test_the_sentence() -> None:
    report = check_hazards(two_steps(load_inp, gemm, ()), image=image())
    assert [str(race) for race in report.races] == [
        "instruction 1 (LOAD INP sram 4 dram 0x000080 y_size 1 x_size 2 x_stride 2) writes INP "
        "element 5 and instruction 2 (GEMM mac uop 0:1 iter 1 x 1 dst 0,0 src 0,0 wgt 0,0) reads "
        "it, in no order: a token load->compute from 1 or later to 2 or earlier would order them"
    ]
    report = check_hazards(two_steps(store, load_inp, ()), image=image())
    assert str(report.races[0]).endswith(
        "reads it, in no order: tokens store->compute from 1 or later and on by compute->load to "
        "2 or earlier would order them"
    )
    assert "writes DRAM byte 0x200 and" in str(report.races[0])


@pytest.mark.parametrize("queues", [(S2C,), (C2L,)])
def test_half_the_way_is_no_order(queues: tuple[TokenQueue, ...]) -> None:
    """From store to load, one token of the two."""
    asm = assembler()
    store(asm, (), [COMPUTE] * (S2C in queues))
    asm.nop(COMPUTE, waits_for=[STORE] * (S2C in queues), signals=[LOAD] * (C2L in queues))
    load_inp(asm, [COMPUTE] * (C2L in queues), ())
    asm.finish()
    assert len(check_hazards(asm.build(), image=image()).races) == 1


def test_the_token_of_another_instruction_orders_what_came_before_it() -> None:
    asm = assembler()
    load_inp(asm, (), ())
    asm.nop(LOAD, signals=COMPUTE)
    asm.nop(COMPUTE, waits_for=LOAD)
    gemm(asm, (), ())
    asm.finish()
    assert check_hazards(asm.build(), image=image()).proved


def test_a_token_that_was_pushed_before_does_not() -> None:
    asm = assembler()
    asm.nop(LOAD, signals=COMPUTE)
    load_inp(asm, (), ())
    gemm(asm, (LOAD,), ())
    asm.finish()
    (race,) = check_hazards(asm.build(), image=image()).races
    assert (race.first, race.second) == (2, 3)


def test_races_are_in_program_order() -> None:
    """Tokens bring the LOAD forward: the GEMM in front of it waits for what stands behind."""
    asm = assembler()
    asm.nop(COMPUTE, waits_for=STORE)
    gemm(asm, (), ())
    load_inp(asm, (), ())
    asm.nop(STORE, signals=COMPUTE)
    asm.finish()
    (race,) = check_hazards(asm.build(), image=image()).races
    assert (race.first, race.first_writes) == (2, False)
    assert (race.second, race.second_writes) == (3, True)
    assert race.queues == (C2L,)


def test_pops_take_tokens_in_order() -> None:
    """The second pop waits for the second push, though the first is popped by somebody else."""
    asm = assembler()
    asm.load(INP, sram=0, dram=at(INP), columns=1, signals=COMPUTE)
    load_inp(asm, (), (COMPUTE,))
    asm.nop(COMPUTE, waits_for=LOAD)
    gemm(asm, (LOAD,), ())
    asm.finish()
    assert check_hazards(asm.build(), image=image()).proved


def test_one_unit_keeps_its_own_order() -> None:
    """Also STOREs to the same bytes, whose writes overlap in time but have one AXI ID."""
    asm = assembler()
    for step in (load_inp, load_inp, load_acc, alu, reset, load_acc_8bit, load_uop, load_uop):
        step(asm, (), ())
    asm.nop(COMPUTE, signals=STORE)
    asm.store(sram=0, dram=0, columns=1, waits_for=COMPUTE)
    asm.store(sram=0, dram=0, columns=1)
    asm.finish()
    # The micro-ops at DRAM byte 0 were read before the token; the STOREs may write there.
    assert check_hazards(asm.build(), image=image()).proved


def test_operands_that_are_not_used_do_not_count() -> None:
    """A reset reads neither INP nor WGT."""
    asm = assembler()
    load_inp(asm, (), ())
    load_wgt(asm, (), ())
    reset(asm, (), ())
    asm.finish()
    assert check_hazards(asm.build(), image=image()).proved


def test_loops_and_padding_reach_as_far_as_they_do() -> None:
    """Loops lead from INP 5 to 8, 14 and 17; LOADs with padding fill 6 elements."""

    def program(first: int) -> Program:
        asm = assembler()
        asm.load(INP, sram=first, dram=at(INP), rows=1, columns=1, pad=(1, 0, 0, 2))
        asm.gemm((0, 1), [Loop(2, src=9), Loop(2, src=3)])
        asm.finish()
        return asm.build()

    for first in range(TINY.depth(INP) - 6):
        races = check_hazards(program(first), image=image()).races
        hit = sorted({5, 8, 14, 17} & set(range(first, first + 6)))
        assert [race.address for race in races] == hit[:1]


def test_rows_of_dram_that_interleave_do_not_meet() -> None:
    def program(column: int) -> Program:
        asm = assembler()
        asm.store(sram=0, dram=at(MemoryId.OUT) + column, rows=3, columns=2, stride=4)
        asm.load(INP, sram=0, dram=at(INP), rows=3, columns=2, stride=4)
        asm.finish()
        return asm.build()

    assert TINY.element_bytes(MemoryId.OUT) == TINY.element_bytes(INP) == 4
    assert check_hazards(program(2), image=image()).proved
    addresses = {column: check_hazards(program(column), image=image()) for column in (0, 1, 3)}
    found = {column: report.races[0].address - PLACE for column, report in addresses.items()}
    assert found == {0: 0, 1: 4, 3: 16}


def test_a_short_store_inside_a_long_one_hides_nothing() -> None:
    asm = assembler()
    asm.store(sram=0, dram=at(MemoryId.OUT), columns=16)
    asm.store(sram=0, dram=at(MemoryId.OUT) + 1, columns=1)
    asm.load(INP, sram=0, dram=at(INP) + 12, columns=1)
    asm.finish()
    (race,) = check_hazards(asm.build(), image=image()).races
    assert (race.first, race.second, race.address) == (1, 3, PLACE + 48)


def test_bases_are_added() -> None:
    program = two_steps(store, load_inp, ())
    far = [0] * BASE_REGISTERS
    far[INP] = 0x1000
    assert check_hazards(program, image=image(), bases=far).proved
    far[MemoryId.OUT] = 0x1000
    (race,) = check_hazards(program, image=image(), bases=far).races
    assert race.address == 0x1000 + PLACE


def test_base_registers_locate_micro_ops() -> None:
    memory = image()
    memory[0x104:0x108], memory[:4] = memory[:4], 0
    asm = Assembler(TINY)
    asm.load(UOP, sram=0, dram=1, columns=1)
    load_inp(asm, (), ())
    gemm(asm, (), ())
    asm.finish()
    assert check_hazards(asm.build(), image=memory).proved
    (race,) = check_hazards(asm.build(), image=memory, bases=(0x100, 0, 0, 0, 0, 0, 0)).races
    assert race.address == 5


@pytest.mark.parametrize("name", vector_names())
def test_golden_programs_are_in_order(name: str) -> None:
    vector = load_vector(name)
    report = check_hazards(vector.program, image=vector.before)
    assert report.proved, report

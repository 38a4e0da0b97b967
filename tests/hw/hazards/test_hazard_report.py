"""The rest of a report: tokens, unchecked instructions, STOREs into the program; and refusals."""

from __future__ import annotations

import doctest

import numpy as np
import numpy.typing as npt
import pytest

import tandem.hw.hazards
from tandem.hw.errors import DeadlockError, EncodingError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.hazards import HazardReport, Overwrite, Unchecked, Unknown, check_hazards
from tandem.hw.hazards.check import RACES_KEPT
from tandem.hw.hazards.hazard_report import HazardError
from tandem.hw.isa import (
    AluOp,
    Assembler,
    Loop,
    MemoryId,
    MicroOp,
    Program,
    TokenQueue,
    Unit,
    pack_uops,
)
from tests.support.hw.hazards.hazard_steps import (
    TINY,
    alu,
    assembler,
    at,
    gemm,
    image,
    load_acc,
    load_inp,
    store,
    two_steps,
)

LOAD, COMPUTE, STORE = Unit
L2C, C2L, C2S, S2C = TokenQueue
INP, WGT, ACC, UOP = MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.UOP

# Tokens -------------------------------------------------------------------------------------


def test_deadlock() -> None:
    asm = assembler()
    asm.nop(COMPUTE, waits_for=LOAD)
    gemm(asm, (), ())
    asm.finish()
    report = check_hazards(asm.build(), image=image())
    assert isinstance(report.token_fault, DeadlockError)
    assert [(wait.instruction, wait.queues) for wait in report.token_fault.waits] == [
        (None, ()),
        (1, (L2C,)),
        (None, ()),
    ]
    assert report.unchecked == (Unchecked(Unknown.NEVER_STARTS, (1, 2, 3)),)
    with pytest.raises(DeadlockError, match="compute waits at instruction 1"):
        report.raise_if_any(allow_unchecked=True)


def test_tokens_left() -> None:
    asm = assembler()
    asm.nop(LOAD, signals=COMPUTE)
    asm.finish()
    report = check_hazards(asm.build(), image=image())
    with pytest.raises(ProgramError, match="1 in load->compute") as caught:
        report.raise_if_any()
    assert caught.value.fault is Fault.TOKENS_LEFT
    assert not report.proved


def test_overflow() -> None:
    push, pop, end = Assembler(TINY), Assembler(TINY), Assembler(TINY)
    push.nop(LOAD, signals=COMPUTE)
    pop.nop(COMPUTE, waits_for=LOAD)
    end.finish()

    def program(count: int) -> Program:
        parts = (push.build().data * count, pop.build().data * count, end.build().data)
        return Program(TINY, b"".join(parts))

    assert check_hazards(program(65535)).proved
    fault = check_hazards(program(65536)).token_fault
    assert fault is not None
    assert (fault.fault, fault.instruction) == (Fault.TOKEN_OVERFLOW, 65535)


def test_illegal_programs_are_refused() -> None:
    asm = Assembler(TINY)
    asm.nop(LOAD)
    with pytest.raises(ProgramError, match="NO_FINISH"):
        check_hazards(asm.build())


# What is not known --------------------------------------------------------------------------


def unproved(report: HazardReport) -> tuple[Unchecked, ...]:
    """The unchecked instructions of a report in which nothing is wrong."""
    assert report.token_fault is None
    assert not report.races
    assert not report.proved
    report.raise_if_any(allow_unchecked=True)
    with pytest.raises(HazardError, match="the order of the program is not proved"):
        report.raise_if_any()
    return report.unchecked


def test_no_image() -> None:
    asm = assembler()
    gemm(asm, (), ())
    alu(asm, (), ())
    asm.finish()
    report = check_hazards(asm.build())
    assert unproved(report) == (Unchecked(Unknown.NO_IMAGE, (1, 2)),)
    with pytest.raises(
        HazardError, match=r"instruction 1 \(and 1 more alike\) uses micro-ops, and"
    ):
        report.raise_if_any()


def test_no_image_still_finds_what_needs_no_micro_ops() -> None:
    assert check_hazards(two_steps(load_acc, store, ())).race_count == 1
    assert check_hazards(two_steps(store, load_inp, ())).race_count == 1
    assert check_hazards(two_steps(load_inp, store, (L2C, C2S))).proved


def test_micro_ops_never_loaded() -> None:
    asm = assembler()
    asm.gemm((0, 2))
    asm.finish()
    assert unproved(check_hazards(asm.build(), image=image())) == (
        Unchecked(Unknown.UNLOADED, (1,)),
    )


def test_padding_makes_micro_ops_of_zeros() -> None:
    """Three micro-ops of 0, (3, 5, 2), 0 and then more zeros: INP 0 and 5 are read."""

    def program(inp: int) -> Program:
        asm = Assembler(TINY)
        asm.load(UOP, sram=0, dram=0, columns=1, pad=(1, 1, 1, 1))
        asm.load(INP, sram=inp, dram=at(INP), columns=1)
        asm.gemm((0, 9))
        asm.finish()
        return asm.build()

    reports = [check_hazards(program(inp), image=image()) for inp in range(8)]
    assert [inp for inp, report in enumerate(reports) if report.races] == [0, 5]
    assert all(not report.unchecked for report in reports)


def test_micro_ops_are_those_of_their_time() -> None:
    """Loaded, used, loaded anew and used again."""
    memory = image()
    memory[4:8] = np.frombuffer(pack_uops(TINY, [MicroOp(dst=9, src=7, wgt=1)]), np.uint8)
    asm = assembler()
    gemm(asm, (), ())
    asm.load(UOP, sram=0, dram=1, columns=1)
    gemm(asm, (), ())
    asm.load(INP, sram=5, dram=at(INP), columns=1)
    asm.load(INP, sram=7, dram=at(INP), columns=1)
    asm.finish()
    report = check_hazards(asm.build(), image=memory)
    assert [(race.first, race.second, race.address) for race in report.races] == [
        (1, 4, 5),
        (3, 5, 7),
    ]


def test_micro_ops_beyond_the_image() -> None:
    for size, unchecked in ((4, ()), (3, (Unchecked(Unknown.BEYOND_IMAGE, (1,)),))):
        program = two_steps(gemm, load_acc, ())
        assert check_hazards(program, image=image()[:size]).unchecked == unchecked


def test_micro_ops_that_a_store_wrote() -> None:
    asm = Assembler(TINY)
    load_acc(asm, (), (STORE,))
    asm.store(sram=3, dram=0, columns=1, waits_for=COMPUTE, signals=COMPUTE)
    asm.load(UOP, sram=0, dram=0, columns=1, waits_for=STORE)
    gemm(asm, (), ())
    asm.finish()
    assert unproved(check_hazards(asm.build(), image=image())) == (Unchecked(Unknown.STORED, (3,)),)


@pytest.mark.parametrize("field", ["dst", "src", "wgt"])
def test_micro_ops_beyond_a_memory(field: str) -> None:
    memory = {"dst": ACC, "src": INP, "wgt": WGT}[field]
    start = {"dst": 3, "src": 5, "wgt": 2}[field]
    for last, proved in ((TINY.depth(memory) - 1, True), (TINY.depth(memory), False)):
        asm = assembler()
        asm.gemm((0, 1), [Loop(2, **{field: last - start})])
        asm.finish()
        report = check_hazards(asm.build(), image=image())
        assert report.proved == proved
        if not proved:
            assert unproved(report) == (Unchecked(Unknown.BEYOND_MEMORY, (1,)),)


def test_tensor_operands_beyond_a_memory() -> None:
    def program(imm: int | None) -> Program:
        asm = assembler()
        asm.alu(AluOp.ADD, (0, 1), [Loop(2, src=TINY.depth(ACC) - 5)], imm=imm)
        asm.finish()
        return asm.build()

    assert check_hazards(program(1), image=image()).proved
    report = check_hazards(program(None), image=image())
    assert unproved(report) == (Unchecked(Unknown.BEYOND_MEMORY, (1,)),)


def test_addresses_that_begin_anew() -> None:
    """The machine of 16 address bits takes byte 0x10000 for byte 0."""

    def program(last: int) -> Program:
        asm = Assembler(TINY.replace(address_bits=16))
        asm.load(INP, sram=0, dram=at(INP, last) - 3, columns=4)
        asm.finish()
        return asm.build()

    assert check_hazards(program(0xFFFC)).proved
    report = check_hazards(program(0x10000))
    assert unproved(report) == (Unchecked(Unknown.BEYOND_ADDRESSES, (0,)),)
    wide = two_steps(load_inp, gemm, (L2C,)).data
    bases = (0, 0, (1 << 62) - 16, 0, 0, 0, 0)
    config = TINY.replace(address_bits=64)
    assert check_hazards(Program(config, wide), image=image(), bases=bases).proved


# The program itself, and arguments ----------------------------------------------------------


def test_stores_onto_the_program() -> None:
    asm = assembler()
    asm.store(sram=0, dram=at(MemoryId.OUT), rows=2, columns=1, stride=16)
    asm.finish()
    program = asm.build()
    # It writes bytes 0x200..0x204 and 0x240..0x244.
    spared = (range(0x204, 0x240), range(0x1D0, 0x200), range(0x244, 0x300))
    for where in spared:
        assert check_hazards(program, image=image(), program_bytes=where).proved
    hit = {(0x203, 0x220): 0x203, (0x1D0, 0x201): 0x200, (0x230, 0x260): 0x240}
    for (start, stop), address in hit.items():
        report = check_hazards(program, image=image(), program_bytes=range(start, stop))
        assert report.overwrites == (Overwrite(1, address),)
        assert not report.proved
        with pytest.raises(HazardError, match=f"instruction 1 stores over .* byte {address:#x}"):
            report.raise_if_any(allow_unchecked=True)


def test_an_empty_store_writes_nothing() -> None:
    asm = Assembler(TINY)
    asm.store(sram=0, dram=at(MemoryId.OUT), rows=3, columns=0, stride=4)
    asm.finish()
    assert check_hazards(asm.build(), program_bytes=range(0x200, 0x300)).proved


def test_many_races_are_counted() -> None:
    asm = assembler()
    for _ in range(RACES_KEPT + 20):
        load_inp(asm, (), ())
        gemm(asm, (), ())
    asm.finish()
    report = check_hazards(asm.build(), image=image())
    assert len(report.races) == RACES_KEPT
    assert report.race_count == 2 * (RACES_KEPT + 20) - 1
    with pytest.raises(HazardError, match=r"\(and 238 more races\)$"):
        report.raise_if_any()


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ((0,) * 6, "6 base registers: there are 7"),
        ((2, 0, 0, 0, 0, 0, 0), "base register of UOP is 2: it must be a multiple of 4"),
        ((0, 0, 0, 0, 0, 1 << 62, 0), "base register of ACC_8BIT is"),
        ((-4, 0, 0, 0, 0, 0, 0), "base register of UOP is -4"),
    ],
)
def test_impossible_bases(bases: tuple[int, ...], message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        check_hazards(two_steps(gemm, alu, ()), bases=bases)


@pytest.mark.parametrize("content", [np.zeros(4, np.int8), np.zeros((2, 2), np.uint8)])
def test_impossible_images(content: npt.NDArray[np.uint8]) -> None:
    with pytest.raises(EncodingError, match="must be a flat array of uint8"):
        check_hazards(two_steps(gemm, alu, ()), image=content)


def test_bytes_are_an_image() -> None:
    assert check_hazards(two_steps(gemm, alu, ()), image=image().tobytes()).proved


def test_the_example() -> None:
    results = doctest.testmod(tandem.hw.hazards, raise_on_error=False)
    assert (results.failed, results.attempted > 0) == (0, True)

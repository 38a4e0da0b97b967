"""The tables of programs, and a run at launch, by hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import Assembler, Finish, MemoryId, Program, TokenQueue, Unit
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle import loads
from tandem.sim.cycle.pipeline_state import make_pipeline
from tandem.sim.cycle.prepare import Prepared, make_run, prepare
from tandem.sim.cycle.state import (
    FAULT_CYCLE,
    LAST,
    LIMIT,
    LONGEST_WAIT,
    SHIFT_AT,
    WATCH,
    WATCH_SILENCE,
    Run,
)
from tandem.sim.engine import Channel, Silence

TINY = load_config("tiny")
NO_BASES = (0,) * BASE_REGISTERS


def program() -> Program:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=10, rows=2, columns=3, stride=5, pad=(1, 1, 1, 1))
    asm.store(sram=0, dram=0, columns=1, waits_for=Unit.COMPUTE)
    asm.load(MemoryId.INP, sram=0, dram=0, rows=2, columns=1, signals=Unit.COMPUTE)
    asm.load(MemoryId.UOP, sram=0, dram=99, rows=4, columns=0)
    asm.load(MemoryId.UOP, sram=0, dram=7, columns=1, signals=Unit.STORE)
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.LOAD)
    return asm.build()


def prepared(whole: Program | None = None) -> Prepared:
    return prepare(TINY, (whole or program()).columns())


def run_of(
    whole: Prepared,
    memory: npt.NDArray[np.uint8],
    bases: tuple[int, ...] = NO_BASES,
    *,
    refused: tuple[tuple[int, int], ...] = (),
    silence: Silence | None = None,
    log: bool = False,
) -> Run:
    uops = np.arange(TINY.depth(MemoryId.UOP))
    return make_run(whole, 64, bases, memory, uops, refused, silence, log=log)


def test_streams_of_the_units() -> None:
    found = prepared()
    assert found.plan.stream.tolist() == [2, 5, 0, 3, 4, 6, 1]
    assert found.first.tolist() == [0, 2, 6, 7]
    assert found.ordinal.tolist() == [0, 0, 0, 1, 2, 1, 3]
    assert found.most_pushes == 2


def test_micro_ops_that_loads_bring() -> None:
    found = prepared()
    # Before each instruction; those of padding and of an empty LOAD are none, nor is INP.
    assert found.word.tolist() == [0, 6, 6, 6, 6, 7, 7]
    assert found.source.tolist() == [10, 11, 12, 15, 16, 17, 7]
    without = prepared(Program.from_instructions(TINY, [Finish()]))
    assert (without.word.tolist(), without.source.tolist()) == ([0], [])
    assert (without.dispatched, without.most_pushes) == (1, 0)


def test_the_first_that_is_illegal() -> None:
    assert prepared().dispatched == 7
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD)
    asm.load(MemoryId.INP, sram=TINY.depth(MemoryId.INP), dram=0, columns=1)
    asm.store(sram=TINY.depth(MemoryId.ACC), dram=0, columns=1)
    asm.finish()
    found = prepared(asm.build())
    assert found.dispatched == 1
    assert [bool(fault) for fault in found.faults] == [False, True, True, False]


def test_the_last_instruction_has_the_fault_of_no_finish() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.LOAD)
    asm.nop(Unit.LOAD)
    found = prepared(asm.build())
    assert found.faults.tolist() == [0, int(Fault.NO_FINISH)]
    # The plan of the functional engine has no such fault.
    assert not found.plan.faults.any()
    asm.load(MemoryId.INP, sram=TINY.depth(MemoryId.INP), dram=0, columns=1)
    own = prepared(asm.build()).faults.tolist()
    assert own == [0, 0, int(Fault.SRAM_RANGE)]


def test_accesses_are_those_of_the_base_registers() -> None:
    found = prepared()
    near = found.accesses(NO_BASES)
    assert found.accesses(NO_BASES) is near
    far = found.accesses((1024,) * BASE_REGISTERS)
    assert (far.end - near.end).max() == 1024
    again = found.accesses(NO_BASES)
    assert again is not near
    np.testing.assert_array_equal(again.end, near.end)


def test_micro_ops_are_read_at_launch() -> None:
    whole, words = prepared(), np.arange(100, 130, dtype="<u4")
    words[12] = 0xFFFFFFFE
    memory = words.view(np.uint8)
    assert run_of(whole, memory).words.tolist() == [110, 111, 0xFFFFFFFE, 115, 116, 117, 107]
    # From a base register on, and 0 beyond memory, whose last bytes are no word.
    bases = (4 * 13, *NO_BASES[1:])
    assert run_of(whole, memory, bases).words.tolist() == [123, 124, 125, 128, 129, 0, 120]
    assert run_of(whole, memory[:-1], bases).words.tolist() == [123, 124, 125, 128, 0, 0, 120]
    assert run_of(whole, memory[:3]).words.tolist() == [0] * 7
    assert run_of(whole, memory[:0]).words.tolist() == [0] * 7
    # The machine drops the bits of an address above its own.
    around = ((1 << 32) + 4, *NO_BASES[1:])
    assert run_of(whole, memory, around).words.tolist()[:2] == [111, 0xFFFFFFFE]


def test_a_run_at_launch() -> None:
    whole, memory = prepared(), np.zeros(1000, np.uint8)
    bases = tuple(range(0, 256 * BASE_REGISTERS, 256))
    run = run_of(whole, memory, bases, refused=((4, 8), (5, 1 << 70)))
    assert run.address == 64
    assert run.bases.tolist() == [0, 256, 512, 768, 1024, 1280, 1536, 256]
    # What is refused, at last all beyond memory.
    assert run.refused.tolist() == [[4, 8], [5, 1 << 62], [1000, LONGEST_WAIT]]
    state = run.state.copy()
    for place, value in (
        (LIMIT, LONGEST_WAIT),
        (FAULT_CYCLE, LONGEST_WAIT),
        (LAST, -1),
        (SHIFT_AT, -1),
    ):
        assert state[place] == value
        state[place] = 0
    assert not state.any()
    assert run.dma[:, loads.INSTRUCTION].tolist() == [-1] * 3
    assert run.dma.shape == (3, loads.FIELDS)
    assert run.times.shape == (6, 7)
    assert run.pushes.shape == (len(TokenQueue), 2)
    assert (run.pipeline == make_pipeline()).all()
    assert run.pipeline.shape[0] == run.detail.shape[0] == 2
    assert run.silence.tolist() == [0, 0, 0]
    # Two beats an instruction.
    assert run.available.shape == (15,)
    word = run.memory
    assert word.uop.tolist() == list(range(TINY.depth(MemoryId.UOP)))
    assert (word.inp_depth, word.wgt_depth, word.acc_depth) == (32, 16, 32)
    # Fields of 5, 5 and 4 bits, from the lowest up.
    assert (word.src_shift, word.wgt_shift) == (5, 10)
    assert (word.dst_mask, word.src_mask, word.wgt_mask) == (31, 31, 15)


def test_a_run_of_which_a_log_is_kept() -> None:
    whole, memory = prepared(), np.zeros(64, np.uint8)
    silence = Silence(Channel.R, 5, 6)
    run = run_of(whole, memory, silence=silence, log=True)
    assert run.state[WATCH] == WATCH_SILENCE
    assert run.silence.tolist() == [2, 5, 11]
    assert len(run.bus.reads) > 7
    assert run_of(whole, memory).state[WATCH] == 0
    assert len(run_of(whole, memory).bus.reads) < len(run.bus.reads)


def test_a_run_of_a_program_without_tokens() -> None:
    asm = Assembler(TINY)
    asm.finish()
    run = run_of(prepared(asm.build()), np.zeros(64, np.uint8))
    assert run.pushes.shape == (len(TokenQueue), 1)
    assert len(run.available) == 3
    wide = TINY.replace(name="wide", bus_bits=256)
    columns = Program.from_instructions(wide, [Finish()] * 3).columns()
    uops = np.zeros(1, np.int64)
    found = make_run(prepare(wide, columns), 0, NO_BASES, np.zeros(64, np.uint8), uops)
    assert len(found.available) == 4

"""The prediction of issues and stalls, against times that were worked out by hand."""

from __future__ import annotations

import numpy as np

from hw.config_files import load_config
from hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, pack_uops
from hw.timing import pipeline_depth
from tests.support.issue_times import Slot, issue_times, slots_of

TINY = load_config("tiny")
DEPTH = pipeline_depth(TINY)
PLAIN = Slot(0, ())
"""A micro-op that needs nothing early."""
AGAIN = Slot(0, (0,))
"""A product or shift of the accumulator that `PLAIN` writes."""


def test_nothing_stalls() -> None:
    other = Slot(1, (1, 2))
    times = issue_times(TINY, {4: [AGAIN, other, AGAIN, PLAIN, PLAIN, None, AGAIN]}, {4: 10})
    assert times.last_issue == {4: 17}
    assert times.end == {4: 17 + DEPTH}
    assert times.stalls == []


def test_each_stall_delays_the_end() -> None:
    times = issue_times(TINY, {0: [PLAIN, AGAIN, AGAIN]}, {0: 10})
    # Issued in 11, 12, 13; the second is in stage 3 in 15 and 16, the third in 17 and 18.
    assert times.stalls == [15, 17]
    assert times.last_issue == {0: 13}
    assert times.end == {0: 13 + DEPTH + 2}


def test_a_stall_delays_the_issue_of_its_cycle() -> None:
    times = issue_times(TINY, {0: [PLAIN, AGAIN, None, None, PLAIN, PLAIN]}, {0: 10})
    # Issued in 11, 12, bubbles in 13 and 14, nothing in 15, then in 16 and 17.
    assert times.stalls == [15]
    assert times.last_issue == {0: 17}
    assert times.end == {0: 17 + DEPTH}


def test_a_stall_delays_the_instruction_behind() -> None:
    slots = {0: [PLAIN, AGAIN], 3: [PLAIN, PLAIN], 5: [AGAIN]}
    times = issue_times(TINY, slots, {0: 10, 3: 12, 5: 14})
    # Instruction 3 is issued in 13 and 14, the next one not in 15 but in 16; it stalls in 19.
    assert times.stalls == [15, 19]
    assert times.last_issue == {0: 12, 3: 14, 5: 16}
    assert times.end == {0: 12 + DEPTH + 1, 3: 14 + DEPTH + 1, 5: 16 + DEPTH + 1}


def test_a_start_in_a_stall() -> None:
    slots = {0: [PLAIN, AGAIN], 1: [PLAIN]}
    # What starts in the cycle of a stall loses nothing, what starts in the one before a cycle.
    for start, issue in ((14, 16), (15, 16), (16, 17)):
        assert issue_times(TINY, slots, {0: 10, 1: start}).last_issue[1] == issue


def test_a_bubble_between_instructions() -> None:
    for start, stalls in ((12, [16]), (13, [])):
        times = issue_times(TINY, {0: [PLAIN, PLAIN], 1: [AGAIN]}, {0: 10, 1: start})
        assert times.stalls == stalls
        assert times.end[1] == start + 1 + DEPTH + len(stalls)


def test_stalls_behind_the_last_issue_count() -> None:
    """Those of the end of one instruction, even if the next one comes long after."""
    times = issue_times(TINY, {0: [PLAIN, AGAIN], 1: [PLAIN]}, {0: 10, 1: 1000})
    assert times.stalls == [15]
    assert times.end == {0: 12 + DEPTH + 1, 1: 1001 + DEPTH}
    times = issue_times(TINY, {0: [PLAIN, AGAIN]}, {0: 10})
    assert times.stalls == [15]


def test_micro_ops_are_those_loaded_before() -> None:
    """In two parts, the second with padding; an ALU instruction between them and one behind."""
    uops = [MicroOp(1, 2, 0), MicroOp(3, 4, 0), MicroOp(5, 6, 0)]
    image = np.zeros(1 << 12, np.uint8)
    packed = np.frombuffer(pack_uops(TINY, uops), np.uint8)
    image[: len(packed)] = packed
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=2)
    first = asm.alu(AluOp.MUL, (0, 2), [Loop(2, dst=4, src=8)])
    immediate = asm.alu(AluOp.SHR, (1, 2), imm=1)
    late = asm.alu(AluOp.ADD, (0, 1))
    asm.load(MemoryId.UOP, sram=0, dram=2, columns=1, pad=(0, 0, 1, 0))
    second = asm.alu(AluOp.SHR, (0, 2))
    gemm = asm.gemm((1, 2), [Loop(2, dst=1), Loop(2, dst=3)])
    asm.finish()
    found = slots_of(asm.build(), image)
    assert found == {
        first: [Slot(1, (1, 2)), Slot(3, (3, 4)), Slot(5, (5, 10)), Slot(7, (7, 12))],
        immediate: [Slot(3, (3,))],
        late: [Slot(1, ())],
        second: [Slot(0, (0, 0)), Slot(5, (5, 6))],
        gemm: [Slot(5, ()), Slot(8, ()), Slot(6, ()), Slot(9, ())],
    }


def test_with_one_read_port_a_bubble_goes_ahead_of_two_operands() -> None:
    config = TINY.replace(acc_read_ports=1)
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    two = asm.alu(AluOp.MUL, (0, 1), [Loop(2)])
    one = asm.alu(AluOp.MUL, (0, 1), [Loop(2)], imm=3)
    asm.finish()
    found = slots_of(asm.build(), np.zeros(1 << 12, np.uint8))
    assert found[two] == [None, Slot(0, (0, 0)), None, Slot(0, (0, 0))]
    assert found[one] == [Slot(0, (0,)), Slot(0, (0,))]

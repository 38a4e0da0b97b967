"""The prediction of issues and stalls, against times that were worked out by hand."""

from __future__ import annotations

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, pack_uops
from tandem.hw.timing import OUT_STAGES, pipeline_depth
from tests.support.sim.issue_times import Slot, Slots, issue_times, slots_of

TINY = load_config("tiny")
EXTENDED = TINY.replace(features=frozenset(Feature))
DEPTH = pipeline_depth(TINY)
PLAIN = Slot(0, ())
"""A micro-op that waits for nothing."""
AGAIN = Slot(0, (0,))
"""A product or shift of the accumulator that `PLAIN` writes."""
OTHER = Slot(1, ())
"""A micro-op that has nothing to do with `PLAIN`."""


def test_nothing_stalls() -> None:
    other = Slot(1, (1, 2))
    slots = [AGAIN, other, OTHER, AGAIN, PLAIN, PLAIN, None, None, AGAIN, OTHER, None, AGAIN]
    times = issue_times(TINY, {4: slots}, {4: 10})
    assert times.last_issue == {4: 22}
    assert times.end == {4: 22 + DEPTH}
    assert times.stalls == []


def test_each_stall_delays_the_end() -> None:
    times = issue_times(TINY, {0: [PLAIN, AGAIN, AGAIN]}, {0: 10})
    # Issued in 11, 12, 13; the second is in stage 3 from 15 to 17, the third from 18 to 20.
    assert times.stalls == [15, 16, 18, 19]
    assert times.last_issue == {0: 13}
    assert times.end == {0: 13 + DEPTH + 4}


def test_a_stall_is_shorter_for_a_result_two_ahead() -> None:
    """And for one that a bubble is behind; for two results, the later one counts."""
    both = Slot(2, (0, 1))
    for slots, stalls in (
        ([PLAIN, OTHER, AGAIN], [16]),
        ([PLAIN, None, AGAIN], [16]),
        ([PLAIN, PLAIN, AGAIN], [16, 17]),
        ([PLAIN, OTHER, both], [16, 17]),
        ([PLAIN, None, both], [16]),
        ([PLAIN, OTHER, None, both], [17]),
    ):
        times = issue_times(TINY, {0: slots}, {0: 10})
        assert times.stalls == stalls
        assert times.end == {0: 10 + len(slots) + DEPTH + len(stalls)}


def test_stalls_are_no_slots() -> None:
    """A stall moves what is ahead of it away; what it holds back keeps its distance."""
    times = issue_times(TINY, {0: [PLAIN, OTHER, AGAIN, Slot(2, (1,))]}, {0: 10})
    # Issued in 11 to 14; stage 3 in 14, 15, 16 and 17, 18: accumulator 1 is three ahead by then.
    assert times.stalls == [16]
    times = issue_times(TINY, {0: [PLAIN, AGAIN, OTHER, AGAIN]}, {0: 10})
    # Stage 3 in 14, from 15 to 17, in 18, in 19 and 20: two slots behind the other product.
    assert times.stalls == [15, 16, 19]


def test_a_stall_delays_the_issue_of_its_cycle() -> None:
    times = issue_times(TINY, {0: [PLAIN, AGAIN, None, None, PLAIN, PLAIN]}, {0: 10})
    # Issued in 11, 12, bubbles in 13 and 14, nothing in 15 and 16, then in 17 and 18.
    assert times.stalls == [15, 16]
    assert times.last_issue == {0: 18}
    assert times.end == {0: 18 + DEPTH}


def test_a_stall_delays_the_instruction_behind() -> None:
    slots = {0: [PLAIN, AGAIN], 3: [PLAIN, PLAIN], 5: [AGAIN]}
    times = issue_times(TINY, slots, {0: 10, 3: 12, 5: 14})
    # Instruction 3 is issued in 13 and 14, the next one not in 15 and 16 but in 17.
    assert times.stalls == [15, 16, 20, 21]
    assert times.last_issue == {0: 12, 3: 14, 5: 17}
    assert times.end == {0: 12 + DEPTH + 2, 3: 14 + DEPTH + 2, 5: 17 + DEPTH + 2}


def test_a_start_in_a_stall() -> None:
    slots = {0: [PLAIN, AGAIN], 1: [PLAIN]}
    # What starts in the cycle of the last stall loses nothing, what starts before waits.
    for start, issue in ((13, 14), (14, 17), (15, 17), (16, 17), (17, 18)):
        assert issue_times(TINY, slots, {0: 10, 1: start}).last_issue[1] == issue


def test_a_bubble_between_instructions() -> None:
    for start, stalls in ((12, [16, 17]), (13, [17]), (14, [])):
        times = issue_times(TINY, {0: [PLAIN, PLAIN], 1: [AGAIN]}, {0: 10, 1: start})
        assert times.stalls == stalls
        assert times.end[1] == start + 1 + DEPTH + len(stalls)


def test_stalls_behind_the_last_issue_count() -> None:
    """Those of the end of one instruction, even if the next one comes long after."""
    times = issue_times(TINY, {0: [PLAIN, AGAIN], 1: [PLAIN]}, {0: 10, 1: 1000})
    assert times.stalls == [15, 16]
    assert times.end == {0: 12 + DEPTH + 2, 1: 1001 + DEPTH}
    times = issue_times(TINY, {0: [PLAIN, AGAIN]}, {0: 10})
    assert times.stalls == [15, 16]


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
    plain = asm.alu(AluOp.ADD, (0, 1), imm=1)
    late = asm.alu(AluOp.ADD, (0, 1))
    asm.load(MemoryId.UOP, sram=0, dram=2, columns=1, pad=(0, 0, 1, 0))
    second = asm.alu(AluOp.SHR, (0, 2))
    gemm = asm.gemm((1, 2), [Loop(2, dst=1), Loop(2, dst=3)])
    asm.finish()
    found = slots_of(asm.build(), image)
    assert found == {
        first: [Slot(1, (1, 2)), Slot(3, (3, 4)), Slot(5, (5, 10)), Slot(7, (7, 12))],
        immediate: [Slot(3, (3,))],
        plain: [Slot(1, ())],
        late: [Slot(1, (2,))],
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


def test_where_results_are_requantised_the_end_is_later_and_nothing_else() -> None:
    slots = {0: [PLAIN, AGAIN], 3: [PLAIN, PLAIN]}
    started = {0: 10, 3: 12}
    base, later = (issue_times(config, slots, started) for config in (TINY, EXTENDED))
    assert (later.last_issue, later.stalls) == (base.last_issue, base.stalls)
    assert later.end == {at: end + OUT_STAGES for at, end in base.end.items()}


def test_a_requantise_is_a_slot_without_a_result() -> None:
    """Behind a product that waits, it waits too; ahead of one, it makes the wait shorter."""
    slots: dict[int, Slots] = {0: [PLAIN, AGAIN], 1: [None], 2: [AGAIN]}
    times = issue_times(EXTENDED, slots, {0: 10, 1: 12, 2: 13})
    # In stage 3: from 15 to 17, in 18, in 19 and 20. The last is issued in 14.
    assert times.stalls == [15, 16, 19]
    assert times.last_issue == {0: 12, 1: 13, 2: 14}
    late = DEPTH + OUT_STAGES
    assert times.end == {0: 12 + 2 + late, 1: 13 + 2 + late, 2: 14 + 3 + late}


def test_what_extensions_issue() -> None:
    """An operand from INP is no accumulator: nothing is waited for, and no bubble ahead."""
    for config in (EXTENDED, EXTENDED.replace(acc_read_ports=1)):
        asm = Assembler(config)
        asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
        mode = asm.requantise(0)
        move = asm.alu(AluOp.MOVE, (0, 1), [Loop(2, dst=1)], from_inp=True)
        product = asm.alu(AluOp.MUL, (0, 1), from_inp=True)
        residual = asm.alu(AluOp.RESIDUAL, (0, 1), from_inp=True)
        copy = asm.alu(AluOp.MOVE, (0, 1))
        asm.finish()
        found = slots_of(asm.build(), np.zeros(1 << 12, np.uint8))
        bubble = [None] * (config.acc_read_ports == 1)
        assert found == {
            mode: [None],
            move: [Slot(0, ()), Slot(1, ())],
            product: [Slot(0, (0,))],
            residual: [Slot(0, ())],
            copy: [*bubble, Slot(0, (0,))],
        }

"""Faults of a run: the first in time, and of several in one cycle the one that counts."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault, FaultSource
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId
from tandem.sim.cycle import faults
from tandem.sim.cycle.faults import (
    OF_READ,
    OF_WRITE,
    check_burst,
    check_micro_ops,
    refused_beat,
    report,
)
from tandem.sim.cycle.state import (
    FAULT_AT,
    FAULT_CODE,
    FAULT_CYCLE,
    FAULT_SOURCE,
    LONGEST_WAIT,
    SHIFT_AT,
)
from tandem.sim.semantics.detail import END_BYTE, FIRST_BYTE, INDEX, MEMORY, POSITION
from tests.support.sim.runs import Parts, parts_of

TINY = load_config("tiny")
ACC = TINY.depth(MemoryId.ACC)


def parts(*refused: tuple[int, int], image: int = 4096, asm: Assembler | None = None) -> Parts:
    if asm is None:
        asm = Assembler(TINY)
        asm.finish()
    return parts_of(TINY, asm.build(), refused=refused, image=image)


def fault_of(part: Parts) -> tuple[int, int, int, int]:
    state = part.run.state
    found = (state[place] for place in (FAULT_CYCLE, FAULT_SOURCE, FAULT_CODE, FAULT_AT))
    cycle, source, code, at = (int(each) for each in found)
    return cycle, source, code, at


def test_the_first_in_time_counts_and_of_one_cycle_the_greatest_source() -> None:
    state = parts().run.state
    assert state[FAULT_CYCLE] == LONGEST_WAIT
    for cycle, source, instruction, first in (
        *((50, 2, 1, True), (51, 4, 2, False), (50, 2, 3, False), (50, 1, 4, False)),
        *((50, 3, 5, True), (49, 0, 6, True), (49, 0, 7, False), (0, 0, 8, True)),
    ):
        before = state.copy()
        assert report(state, cycle, source, 10 + instruction, instruction) == first
        if first:
            expected = [cycle, source, 10 + instruction, instruction]
            assert [
                state[at] for at in (FAULT_CYCLE, FAULT_SOURCE, FAULT_CODE, FAULT_AT)
            ] == expected
        else:
            assert (state == before).all()


def test_sources_and_codes_are_those_of_the_machine() -> None:
    for source in ("INDEX", "SHIFT", "READ", "WRITE", "DISPATCH"):
        assert getattr(faults, f"OF_{source}") == FaultSource[source]
    for code in ("BUS_READ", "BUS_WRITE", "SRAM_INDEX", "SHIFT"):
        assert getattr(faults, code) == Fault[code]


def test_the_first_beat_that_is_refused() -> None:
    run = parts((84, 85), (64, 72)).run
    # Beats of 8 bytes from 40 on: 40 to 47, 48 to 55, 56 to 63, 64 to 71 and so on.
    assert refused_beat(run, 40, 3, 8) == 3
    assert refused_beat(run, 40, 4, 8) == 3
    assert refused_beat(run, 64, 4, 8) == 0
    assert refused_beat(run, 72, 4, 8) == 1
    assert refused_beat(run, 88, 4, 8) == 4
    assert refused_beat(run, 72, 1, 8) == 1
    # The last rows and the first one are beyond memory, which has 4096 bytes.
    assert refused_beat(run, 4080, 2, 8) == 2
    assert refused_beat(run, 4080, 3, 8) == 2
    assert refused_beat(run, 1 << 40, 1, 8) == 0


def test_a_range_that_only_touches_beats() -> None:
    assert refused_beat(parts((32, 40), (48, 56)).run, 40, 1, 8) == 1
    assert refused_beat(parts((32, 41)).run, 40, 1, 8) == 0
    assert refused_beat(parts((47, 48)).run, 40, 1, 8) == 0


def test_a_read_tells_in_the_cycle_of_its_beat() -> None:
    part = parts((64, 72))
    # Beats 5 to 8, from cycle 100 on, three cycles apart; beat 8 is that of byte 64.
    check_burst(part.machine, part.run, 5, 3, 100, 3, 7)
    assert fault_of(part)[0] == LONGEST_WAIT
    check_burst(part.machine, part.run, 5, 4, 100, 3, 7)
    assert fault_of(part) == (109, OF_READ, Fault.BUS_READ, 7)
    assert part.run.detail[0, [FIRST_BYTE, END_BYTE]].tolist() == [64, 72]
    # A later one changes nothing.
    check_burst(part.machine, part.run, 1000, 1, 200, 3, 9)
    assert fault_of(part)[3] == 7
    assert part.run.detail[0, FIRST_BYTE] == 64
    assert not part.run.detail[1].any()


def test_a_write_tells_when_its_order_ends() -> None:
    part = parts((64, 72))
    check_burst(part.machine, part.run, 5, 4, 100, 0, 7)
    assert fault_of(part) == (100, OF_WRITE, Fault.BUS_WRITE, 7)
    check_burst(part.machine, part.run, 511, 2, 99, 0, 8)
    assert fault_of(part) == (99, OF_WRITE, Fault.BUS_WRITE, 8)
    assert part.run.detail[0, [FIRST_BYTE, END_BYTE]].tolist() == [4096, 4104]


def looping(step: int, op: AluOp = AluOp.ADD) -> Parts:
    """Micro-ops on accumulators 0, `step`, 2 * `step`, behind another instruction."""
    asm = Assembler(TINY)
    asm.finish()
    asm.alu(op, (0, 1), (Loop(3, dst=step),), imm=1)
    return parts(asm=asm)


def checked(part: Parts, start: int = 20) -> None:
    check_micro_ops(part.machine, part.run, part.run.table[1], 1, start)


def test_indices_are_checked_two_stages_after_the_issue() -> None:
    assert 2 * (ACC // 2) == ACC
    part = looping((ACC - 1) // 2)
    checked(part)
    assert fault_of(part)[0] == LONGEST_WAIT
    part = looping(ACC // 2)
    before = part.run.pipeline.copy()
    checked(part)
    # Micro-ops are issued from 21 on: the third in 23.
    assert fault_of(part) == (25, FaultSource.INDEX, Fault.SRAM_INDEX, 1)
    detail = part.run.detail[0]
    assert [int(detail[at]) for at in (POSITION, MEMORY, INDEX)] == [2, MemoryId.ACC, ACC]
    # What has been looked at ahead has not happened.
    assert (part.run.pipeline[0] == before[0]).all()


def test_a_later_fault_leaves_the_details_of_the_first() -> None:
    part = looping(ACC // 2)
    report(part.run.state, 24, 0, 9, 0)
    part.run.detail[0] = 5
    checked(part)
    assert fault_of(part)[0] == 24
    assert set(part.run.detail[0].tolist()) == {5}
    later = looping(ACC // 2)
    later.run.detail[0] = 5
    checked(later)
    assert later.run.detail[0, [FIRST_BYTE, END_BYTE]].tolist() == [5, 5]


@pytest.mark.parametrize("micro_op", [0, 2])
def test_a_refused_shift_is_seen_a_cycle_before_its_write(micro_op: int) -> None:
    part = looping(1, AluOp.SHR)
    part.run.state[[SHIFT_AT, SHIFT_AT + 1]] = 0, micro_op
    checked(part)
    assert fault_of(part)[0] == LONGEST_WAIT
    part.run.state[SHIFT_AT] = 1
    checked(part)
    # Issued from 21 on, written 8 cycles later.
    assert fault_of(part) == (21 + micro_op + 7, FaultSource.SHIFT, Fault.SHIFT, 1)

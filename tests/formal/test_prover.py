"""The prover itself: what is not so, or is not shown, is not called proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux, Signal
from amaranth.lib.memory import Memory

from tandem.hw.rtl.queue import Queue
from tandem.hw.synthesis.errors import SynthesisError
from tests.formal.harness import Harness
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, build, prove, true_of_anything
from tests.support.hw.rtl.rtl import only_built


def clock_harness() -> tuple[Harness, Any]:
    """A count from 0 to 5, again and again: 6 and 7 are never reached."""
    harness = Harness()
    count = Signal(3)
    harness.sync(count.eq(Mux(count == 5, 0, count + 1)))
    harness.reach("begins_again", harness.delayed(count == 5))
    return harness, count


def test_what_holds_is_proved(tmp_path: Path) -> None:
    harness, count = clock_harness()
    harness.must("in_range", count <= 5)
    prove(harness, tmp_path, reach=9)


def test_what_fails_after_reset_is_found(tmp_path: Path) -> None:
    harness, count = clock_harness()
    harness.must("not_zero", count != 0)
    with pytest.raises(AssertionError, match=r"from reset breaks \['not_zero'\]"):
        prove(harness, tmp_path, reach=9)


def test_what_fails_late_is_found_by_induction(tmp_path: Path) -> None:
    harness, count = clock_harness()
    harness.must("below_five", count < 5)
    with pytest.raises(AssertionError, match=r"induction does not reach \['below_five'\]"):
        prove(harness, tmp_path, reach=9)
    assert breaks_below_five(tmp_path, steps=7)
    assert not breaks_below_five(tmp_path, steps=6)


def breaks_below_five(folder: Path, *, steps: int) -> bool:
    harness, count = clock_harness()
    harness.must("below_five", count < 5)
    harness.must("never", 0)
    return breaks(harness, "below_five", folder, steps=steps)


def test_a_longer_induction_may_do(tmp_path: Path) -> None:
    # 7 is never reached, but comes after 6 and 6 after nothing: two cycles tell.
    for steps, proved in ((1, False), (2, True)):
        harness, count = clock_harness()
        harness.must("not_seven", count != 7)
        harness.claim(harness.properties)
        assert (not build(harness, tmp_path).not_inductive(steps)) == proved


def test_assumptions_that_leave_nothing_are_found(tmp_path: Path) -> None:
    harness, count = clock_harness()
    harness.must("in_range", count <= 5)
    harness.suppose(count < 3)
    with pytest.raises(AssertionError, match=r"no run of 9 cycles reaches \['begins_again'\]"):
        prove(harness, tmp_path, reach=9)


def test_registers_begin_with_a_reset_and_others_with_anything(tmp_path: Path) -> None:
    for reset_less in (False, True):
        harness = Harness()
        kept = Signal(reset_less=reset_less)
        harness.sync(kept.eq(kept))
        harness.must("zero", ~kept)
        assert breaks(harness, "zero", tmp_path, steps=2) == reset_less


@pytest.mark.parametrize("meets", [False, True])
def test_a_read_that_meets_a_write_gives_anything(meets: bool, tmp_path: Path) -> None:
    harness = Harness()
    harness.module.submodules.memory = memory = Memory(shape=8, depth=2, init=[])
    write, read = memory.write_port(), memory.read_port()
    harness.free(write.en, write.data)
    harness.comb(read.addr.eq(0), write.addr.eq(0 if meets else 1))
    word = harness.peek("memory[0]", 8)
    gives_what_was_there = read.data == harness.delayed(word)
    harness.must("old", ~harness.delayed(1) | gives_what_was_there)
    assert breaks(harness, "old", tmp_path, steps=4) == meets


def test_what_the_block_does_not_bear_on_is_told(tmp_path: Path) -> None:
    harness = Harness()
    harness.module.submodules.dut = dut = anything(Queue)(8, 2)
    harness.must("of_the_block", dut.level <= 2)
    harness.must("of_nothing", ~dut.o.valid | dut.o.valid)
    assert true_of_anything(harness, tmp_path, steps=3) == {"of_nothing"}


def test_a_wire_that_is_not_there_is_refused(tmp_path: Path) -> None:
    harness = Harness()
    harness.module.submodules.dut = Queue(8, 4)
    harness.must("seen", harness.peek("dut.middle", 2) == 0)
    harness.claim(harness.properties)
    with pytest.raises(SynthesisError, match=r"dut\.middle"):
        build(harness, tmp_path)


def test_a_name_is_used_once() -> None:
    harness, count = clock_harness()
    only_built(harness.module)
    harness.must("in_range", count <= 5)
    with pytest.raises(ValueError, match="two claims are called in_range"):
        harness.invariant("in_range", count <= 6)


def test_a_fault_goes_where_it_is_meant_to() -> None:
    with pytest.raises(ValueError, match=r"hw\.rtl\.queue has 'no such text' 0 times"):
        planted(Queue, ("no such text", ""))
    with pytest.raises(ValueError, match="it must have it once"):
        planted(Queue, ("push", ""))

"""The OldestAddress: that of the burst that was the oldest a cycle ago, or of the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Mux, Signal

from tandem.hw.rtl.oldest_address import OldestAddress
from tests.formal.harness import Follower, Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

WIDTH = 8


def oldest_harness(block: Any, depth: int) -> Harness:
    """Bursts come while fewer than `depth` wait, are answered while any does, or are given up."""
    harness = Harness()
    harness.module.submodules.dut = dut = block(bits=WIDTH, depth=depth)
    harness.free(dut.push, dut.address, dut.pop, dut.clear)
    bits = depth.bit_length() + 1
    count = harness.counter(bits, dut.push, dut.pop, clear=dut.clear)
    harness.suppose(implies(dut.push, count < depth))
    harness.suppose(implies(dut.pop, count != 0))
    entry = Follower(
        harness,
        comes=dut.push,
        leaves=dut.pop,
        waiting=count,
        word=dut.address,
        bits=bits,
        dropped=dut.clear,
    )
    last = Signal(WIDTH)
    any_yet = Signal()
    cleared = Signal()
    harness.sync(
        last.eq(Mux(dut.push, dut.address, last)),
        any_yet.eq(any_yet | dut.push),
        cleared.eq(dut.clear | (cleared & ~dut.push)),
    )
    oldest = implies(harness.delayed(entry.is_next), dut.oldest == harness.delayed(entry.word))
    harness.must("of_the_oldest_a_cycle_ago", oldest)
    given_up = harness.delayed(cleared & any_yet)
    harness.must("of_the_last_if_given_up", implies(given_up, dut.oldest == harness.delayed(last)))

    places = (depth - 1).bit_length()
    head = harness.peek("dut.head", places)
    tail = harness.peek("dut.tail", places)
    words = Array(harness.peek(f"dut.storage.array[{place}]", WIDTH) for place in range(depth))
    harness.invariant("count_is_distance", (tail - head)[:places] == count[:places])
    harness.invariant("no_more_than_depth", count <= depth)
    harness.invariant("is_among_the_waiting", implies(entry.active, entry.ahead < count))
    mine = words[(head + entry.ahead)[:places]]
    harness.invariant("keeps_it", implies(entry.active, mine == entry.word))
    newest = words[(tail - 1)[:places]]
    harness.invariant("keeps_the_last", implies(any_yet, newest == last))
    harness.invariant("knows_of_the_end", harness.peek("dut.cleared", 1) == cleared)
    harness.invariant("none_wait_then", implies(cleared, count == 0))

    harness.reach("full", count == depth)
    second = entry.is_next & (harness.delayed(entry.ahead) == 1)
    harness.reach("second_becomes_the_oldest", second)
    harness.reach("given_up_as_one_came", harness.delayed(dut.clear & dut.push & (count != 0)))
    again = harness.delayed(cleared & dut.push)
    harness.reach("one_after_the_end", again & entry.is_next)
    return harness


@pytest.mark.parametrize("depth", [2, 8, pytest.param(16, marks=pytest.mark.exhaustive)])
def test_every_run(depth: int, tmp_path: Path) -> None:
    prove(oldest_harness(OldestAddress, depth), tmp_path, reach=depth + 4)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(oldest_harness(anything(OldestAddress), 4), tmp_path, steps=7)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "head.eq(head + self.pop)",
            "head.eq(head)",
            "of_the_oldest_a_cycle_ago",
            id="stays_at_the_first",
        ),
        pytest.param(
            "head.eq(tail + self.push)",
            "head.eq(tail)",
            "of_the_last_if_given_up",
            id="misses_the_one_that_came",
        ),
        pytest.param(
            "storage.read_address.eq(head - cleared)",
            "storage.read_address.eq(head)",
            "of_the_last_if_given_up",
            id="shows_the_next",
        ),
        pytest.param(
            "m.d.sync += cleared.eq(0)",
            "m.d.sync += cleared.eq(cleared)",
            "of_the_oldest_a_cycle_ago",
            id="shows_the_last_for_ever",
        ),
        pytest.param(
            "head - cleared",
            "head + self.pop - cleared",
            "of_the_oldest_a_cycle_ago",
            id="a_cycle_early",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = oldest_harness(planted(OldestAddress, (was, becomes)), 4)
    assert breaks(harness, broken, tmp_path, steps=9)

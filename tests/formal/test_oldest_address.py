"""The OldestAddress: that of the payload that was shown a cycle ago, or the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Mux, Signal

from tandem.hw.rtl.block import ResetBy
from tandem.hw.rtl.oldest_address import OldestAddress
from tandem.hw.rtl.queue import Queue
from tests.formal.harness import Follower, Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

WIDTH = 8


def oldest_harness(block: Any, depth: int) -> Harness:
    """Payloads come into a queue, with an address or without, and are taken or given up."""
    harness = Harness()
    harness.module.submodules.dut = dut = block(bits=WIDTH, depth=depth)
    queue = Queue(1, depth, numbered=True)
    harness.module.submodules.queue = ResetBy(dut.clear, queue)
    harness.free(queue.i.valid, queue.i.payload, queue.o.ready, dut.clear, dut.hold)
    address = Signal(WIDTH)
    has_address = Signal()
    last = Signal(WIDTH)
    harness.free(address, has_address)
    push = queue.i.valid & queue.i.ready
    pop = queue.o.valid & queue.o.ready
    came = harness.delayed(push)
    cleared = harness.delayed(dut.clear)
    harness.sync(last.eq(Mux(push & has_address, address, last)))
    harness.comb(
        dut.push.eq(came),
        dut.address.eq(last),
        dut.waits.eq(queue.o.valid),
        dut.first.eq(queue.first),
        dut.last.eq(queue.last),
    )
    bits = depth.bit_length() + 1
    count = harness.counter(bits, push, pop, clear=dut.clear)
    entry = Follower(
        harness,
        comes=push,
        leaves=pop,
        waiting=count,
        word=Cat(address, has_address),
        bits=bits,
        dropped=dut.clear,
    )
    addressed = entry.word[WIDTH]
    # In the cycle after it came a payload's address is not in the memory yet.
    known = Signal()
    harness.sync(known.eq(entry.active & ~dut.clear))
    mine = entry.is_next & known & addressed
    shown = harness.delayed(~dut.hold)
    word = harness.delayed(entry.word)[:WIDTH]
    harness.must(
        "of_the_oldest_a_cycle_ago", implies(harness.delayed(mine) & shown, dut.oldest == word)
    )
    # All were given up, and none with an address has come since.
    given_up = Signal()
    harness.sync(given_up.eq(dut.clear | (given_up & ~(push & has_address))))
    none = given_up & ~cleared & (count == 0)
    harness.must(
        "of_the_last_if_given_up",
        implies(harness.delayed(none) & shown, dut.oldest == harness.delayed(last)),
    )
    held = implies(harness.delayed(dut.hold), dut.oldest == harness.delayed(dut.oldest))
    harness.must("stays_while_held", held)

    places = (depth - 1).bit_length()
    harness.queue_at("queue", depth, 1)
    level = harness.peek("queue.level", places + 1)
    words = Array(harness.peek(f"dut.storage.array[{place}]", WIDTH) for place in range(depth))
    harness.invariant("count_is_level", count == level)
    harness.invariant("is_among_the_waiting", implies(entry.active, entry.ahead < count))
    waited, fresh = entry.active & known, entry.active & ~known
    mine_now = words[(queue.first + entry.ahead)[:places]] == entry.word[:WIDTH]
    harness.invariant("keeps_it", implies(waited & addressed, mine_now))
    harness.invariant("came_before_the_last", implies(waited & came, entry.ahead + 1 < count))
    harness.invariant("just_came", implies(fresh, came & (entry.ahead + 1 == count)))
    harness.invariant("has_the_last", implies(fresh & addressed, last == entry.word[:WIDTH]))
    written = ~cleared & ~came
    harness.invariant("keeps_the_last", implies(given_up & written, words[queue.last] == last))
    harness.invariant("none_is_left", implies(cleared, (count == 0) & given_up))
    harness.invariant("knows_the_end", harness.peek("dut.cleared", 1) == cleared)
    harness.invariant("came_is_there", implies(came & ~cleared, count != 0))
    harness.invariant("none_with_an_address", implies(given_up & entry.active, ~addressed))

    harness.reach("full", count == depth)
    second = harness.delayed(entry.ahead) == 1
    harness.reach("second_becomes_the_oldest", mine & second)
    harness.reach("given_up_as_one_came", harness.delayed(dut.clear & push & (count != 0)))
    harness.reach("one_without_after_the_end", none & harness.delayed(pop & given_up))
    again = harness.delayed(harness.delayed(given_up & push & has_address))
    harness.reach("one_after_the_end", again & mine)
    return harness


@pytest.mark.parametrize("depth", [2, 8, pytest.param(16, marks=pytest.mark.exhaustive)])
def test_every_run(depth: int, tmp_path: Path) -> None:
    prove(oldest_harness(OldestAddress, depth), tmp_path, reach=depth + 5)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(oldest_harness(anything(OldestAddress), 4), tmp_path, steps=7)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "Mux(self.waits, self.first, self.last)",
            "self.last",
            "of_the_oldest_a_cycle_ago",
            id="shows_the_last_for_ever",
        ),
        pytest.param(
            "Mux(self.waits, self.first, self.last)",
            "self.first",
            "of_the_last_if_given_up",
            id="shows_the_next",
        ),
        pytest.param(
            "self.push | cleared",
            "self.push",
            "of_the_last_if_given_up",
            id="forgets_the_last",
        ),
        pytest.param(
            "self.push | cleared",
            "cleared",
            "of_the_oldest_a_cycle_ago",
            id="remembers_none",
        ),
        pytest.param(
            "self.push | cleared",
            "1",
            "of_the_oldest_a_cycle_ago",
            id="writes_what_it_reads",
        ),
        pytest.param(
            "storage.read_enable.eq(~self.hold)",
            "storage.read_enable.eq(1)",
            "stays_while_held",
            id="goes_on",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = oldest_harness(planted(OldestAddress, (was, becomes)), 4)
    assert breaks(harness, broken, tmp_path, steps=9)

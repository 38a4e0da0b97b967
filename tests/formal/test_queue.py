"""The Queue: everything that goes in comes out, once, in order, a cycle later at the earliest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tandem.hw.rtl.queue import Queue
from tests.formal.harness import Follower, Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything

WIDTH = 8


# Block RAM is for deep queues, too deep to prove: the same circuit, where a few payloads are many.
DEEP = ("SHALLOW = 64", "SHALLOW = 1")


def queue_harness(queue: Any, depth: int, *, deep: bool = False) -> Harness:
    """Anything goes in whenever, and is taken whenever."""
    harness = Harness()
    harness.module.submodules.dut = dut = queue(WIDTH, depth, numbered=True)
    harness.free(dut.i.valid, dut.i.payload, dut.o.ready)
    push = dut.i.valid & dut.i.ready
    pop = dut.o.valid & dut.o.ready
    bits = depth.bit_length() + 1
    count = harness.counter(bits, push, pop)
    entry = Follower(harness, comes=push, leaves=pop, waiting=count, word=dut.i.payload, bits=bits)

    harness.must("level_counts", dut.level == count)
    harness.must("never_above_depth", count <= depth)
    harness.must("takes_while_there_is_room", dut.i.ready == (count != depth))
    harness.must("offers_a_cycle_later", dut.o.valid == (count != 0))
    places = (depth - 1).bit_length()
    came, left = harness.counter(places, push, 0), harness.counter(places, pop, 0)
    harness.must("numbers_the_last", dut.last == came)
    harness.must("numbers_the_shown", dut.first == (left + 1)[:places])
    harness.must("comes_out_in_turn", implies(entry.is_next, dut.o.payload == entry.word))
    harness.steady("output", dut.o.valid, dut.o.ready, dut.o.payload)

    words = harness.queue_at("dut", depth, WIDTH, deep=deep)
    harness.invariant("is_among_the_waiting", implies(entry.active, entry.ahead < count))
    harness.invariant("keeps_it", implies(entry.active, words(entry.ahead) == entry.word))

    full = count == depth
    harness.reach("full", full)
    harness.reach("last_of_many_leaves", entry.is_next & pop & (harness.delayed(entry.ahead) == 1))
    harness.reach("through_in_a_cycle", harness.delayed(push & (count == 0)) & push & pop)
    return harness


@pytest.mark.parametrize("depth", [2, pytest.param(4, marks=pytest.mark.exhaustive), 8])
def test_every_run(depth: int, tmp_path: Path) -> None:
    prove(queue_harness(Queue, depth), tmp_path, reach=depth + 4)


@pytest.mark.parametrize("depth", [2, pytest.param(4, marks=pytest.mark.exhaustive), 8])
def test_every_run_in_block_ram(depth: int, tmp_path: Path) -> None:
    prove(queue_harness(planted(Queue, DEEP), depth, deep=True), tmp_path, reach=depth + 4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("depth", [16, 32])
def test_every_run_of_deep_queues(depth: int, tmp_path: Path) -> None:
    prove(queue_harness(Queue, depth), tmp_path, reach=depth + 4)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(queue_harness(anything(Queue), 4), tmp_path, steps=7)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "(self.level == self._depth - 1)",
            "(self.level == self._depth)",
            "takes_while_there_is_room",
            id="full_takes_one_more",
        ),
        pytest.param(
            "push & (self.level == self._depth - 1)",
            "self.level == self._depth - 1",
            "takes_while_there_is_room",
            id="full_one_too_early",
        ),
        pytest.param(
            "space.eq(pop | (space & ~(push & (self.level == self._depth - 1))))",
            "space.eq((pop | space) & ~(push & (self.level == self._depth - 1)))",
            "takes_while_there_is_room",
            id="full_though_one_left_as_one_came",
        ),
        pytest.param(
            "space.eq(pop | ",
            "space.eq((pop & ~self.i.valid) | ",
            "takes_while_there_is_room",
            id="room_not_seen_while_one_waits",
        ),
        pytest.param(
            "space = Signal(init=1)",
            "space = Signal()",
            "takes_while_there_is_room",
            id="full_after_reset",
        ),
        pytest.param(
            "filled.eq(push | (filled & ~(pop & (self.level == 1))))",
            "filled.eq((push | filled) & ~(pop & (self.level == 1)))",
            "offers_a_cycle_later",
            id="empty_though_one_came_as_the_last_left",
        ),
        pytest.param(
            "(pop & (self.level == 1))",
            "(pop & (self.level <= 2))",
            "offers_a_cycle_later",
            id="empty_one_too_early",
        ),
        pytest.param(
            "(pop & (self.level == 1))",
            "(pop & (self.level == 0))",
            "offers_a_cycle_later",
            id="never_empty_again",
        ),
        pytest.param(
            "write.en.eq(push)",
            "write.en.eq(push & (self.level != self._depth - 1))",
            "comes_out_in_turn",
            id="loses_the_one_that_fills_it",
        ),
        pytest.param(
            "m.If(several)",
            "m.If(self.o.valid)",
            "comes_out_in_turn",
            id="memory_of_nothing",
        ),
        pytest.param(
            "(push & ~pop & self.o.valid)",
            "(push & self.o.valid)",
            "comes_out_in_turn",
            id="several_though_one_left",
        ),
        pytest.param(
            "(pop & ~push & (self.level == 2))",
            "(pop & (self.level == 2))",
            "comes_out_in_turn",
            id="newest_jumps_the_queue",
        ),
        pytest.param(
            "after_head = Signal(range(self._depth), init=1)",
            "after_head = Signal(range(self._depth))",
            "comes_out_in_turn",
            id="reads_the_head_again",
        ),
        pytest.param(
            "after_head.eq(after_head + pop)",
            "after_head.eq(after_head + self.o.ready)",
            "comes_out_in_turn",
            id="moves_though_nothing_is_there",
        ),
        pytest.param(
            "m.If(pop | ~self.o.valid)",
            "m.If(self.o.ready | ~self.o.valid | several)",
            "output_payload_0_is_steady",
            id="head_replaced_though_nobody_took_it",
        ),
        pytest.param(
            "m.If(pop | ~self.o.valid)",
            "m.If(pop)",
            "comes_out_in_turn",
            id="first_is_lost",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = queue_harness(planted(Queue, (was, becomes)), 4)
    assert breaks(harness, broken, tmp_path, steps=12)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        # What was pushed at the place of the next head is read before it is there.
        pytest.param(
            "fresh.eq(push & (tail == next_head))",
            "fresh.eq(0)",
            "comes_out_in_turn",
            id="nothing_stands_in",
        ),
        pytest.param(
            "fresh.eq(push & (tail == next_head))",
            "fresh.eq(push)",
            "comes_out_in_turn",
            id="newest_jumps_the_queue",
        ),
        pytest.param(
            "next_head.eq(head + pop)",
            "next_head.eq(head + self.o.ready)",
            "comes_out_in_turn",
            id="head_moves_though_nothing_is_there",
        ),
        pytest.param(
            "next_head.eq(head + pop)",
            "next_head.eq(head + self.o.valid)",
            "output_payload_0_is_steady",
            id="head_moves_though_nobody_took_it",
        ),
    ],
)
def test_fault_in_block_ram_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = queue_harness(planted(Queue, DEEP, (was, becomes)), 4, deep=True)
    assert breaks(harness, broken, tmp_path, steps=12)

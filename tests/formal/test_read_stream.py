"""The ReadStream: requests bursts as its buffer has space, and gives every beat in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Mux

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.read_stream import ReadStream
from tests.formal.harness import Follower, Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.formal.rows import Rows, claim_bursts, look_inside

CONFIG = HardwareConfig(address_bits=16)
LONGEST = 4


def stream_harness(stream: Any, depth: int, size_bits: int = 8) -> Harness:
    """Any job, bursts granted whenever, answered whenever, beats used whenever."""
    harness = Harness()
    harness.module.submodules.dut = dut = stream(
        CONFIG, depth=depth, longest=LONGEST, size_bits=size_bits
    )
    request = dut.port.request
    arrived = dut.port.beat.valid
    harness.free(dut.start, dut.rows, request.ready, arrived, dut.port.beat.payload)
    harness.free(dut.beat.ready)
    rows = Rows(harness, dut, request, CONFIG, LONGEST)
    granted = request.valid & request.ready
    used = dut.beat.valid & dut.beat.ready
    bits = depth.bit_length() + 2
    asked = Mux(granted, request.payload.beats, 0)
    owed = harness.counter(bits, asked, arrived)
    waiting = harness.counter(bits, arrived, used)
    # Memory sends no beat that it was not asked for.
    harness.suppose(implies(arrived, owed != 0))
    beat = Follower(
        harness,
        comes=arrived,
        leaves=used,
        waiting=waiting,
        word=dut.port.beat.payload,
        bits=bits,
    )

    claim_bursts(harness, rows)
    fits = rows.beats + owed + waiting <= depth
    asks = rows.open & ~rows.starting & fits
    harness.must("has_room_for_all_that_is_under_way", owed + waiting <= depth)
    harness.must("asks_as_soon_as_there_is_room", request.valid == asks)
    harness.must("offers_a_beat_a_cycle_after_it_came", dut.beat.valid == (waiting != 0))
    harness.must("beat_comes_out_in_turn", implies(beat.is_next, dut.beat.payload == beat.word))
    harness.steady("request", request.valid, request.ready, request.payload)
    harness.steady("beat", dut.beat.valid, dut.beat.ready, dut.beat.payload)

    look_inside(harness, rows, "dut.bursts")
    harness.invariant("is_among_the_waiting", implies(beat.active, beat.ahead < waiting))
    harness.invariant("no_wrap", (owed <= depth) & (waiting <= depth))
    free = harness.peek("dut.free", depth.bit_length())
    harness.invariant("free_is_the_rest", free + owed + waiting == depth)
    words = harness.queue_at("dut.buffer", depth, CONFIG.bus_bits)
    harness.invariant("level", harness.peek("dut.buffer.level", depth.bit_length()) == waiting)
    harness.invariant("keeps_it", implies(beat.active, words(beat.ahead) == beat.word))

    harness.reach("all_room_taken", owed + waiting == depth)
    harness.reach("holds_back", rows.open & ~rows.starting & ~request.valid)
    harness.reach("asks_while_it_waits_for_more", granted & (owed > 1))
    harness.reach("second_beat_leaves", beat.is_next & used & (harness.delayed(beat.ahead) == 1))
    harness.reach("last_burst_of_a_job", granted & rows.row_ends & (rows.rows == 1))
    return harness


@pytest.mark.parametrize(
    ("depth", "size_bits", "reach"),
    [
        (4, 5, 8),
        pytest.param(4, 6, 8, marks=pytest.mark.exhaustive),
        pytest.param(8, 12, 10, marks=pytest.mark.exhaustive),
        pytest.param(16, 12, 16, marks=pytest.mark.exhaustive),
    ],
)
def test_every_run(depth: int, size_bits: int, reach: int, tmp_path: Path) -> None:
    prove(stream_harness(ReadStream, depth, size_bits), tmp_path, reach=reach)


def test_each_property_says_something(tmp_path: Path) -> None:
    assert not true_of_anything(stream_harness(anything(ReadStream), 8), tmp_path, steps=6)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "burst.payload.beats <= free",
            "burst.payload.beats <= free + 1",
            "has_room_for_all_that_is_under_way",
            id="room_for_one_beat_too_many",
        ),
        pytest.param(
            "free.eq(free - request.payload.beats)",
            "free.eq(free - 1)",
            "has_room_for_all_that_is_under_way",
            id="room_taken_by_the_burst_instead_of_the_beat",
        ),
        pytest.param(
            "free.eq(free - request.payload.beats + 1)",
            "free.eq(free)",
            "has_room_for_all_that_is_under_way",
            id="room_not_taken_while_some_is_given_back",
        ),
        pytest.param(
            "free.eq(free - request.payload.beats + 1)",
            "free.eq(free - request.payload.beats)",
            "asks_as_soon_as_there_is_room",
            id="room_not_given_back_while_some_is_taken",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "Cat(granted, taken)",
            "Cat(taken, granted)",
            "has_room_for_all_that_is_under_way",
            id="room_given_for_taken",
        ),
        pytest.param(
            "bursts.burst.ready.eq(request.ready & fits)",
            "bursts.burst.ready.eq(1)",
            "begins_where_the_last_ended",
            id="burst_goes_on_though_not_granted",
        ),
        pytest.param(
            "burst.payload.beats <= free",
            "burst.payload.beats < free",
            "asks_as_soon_as_there_is_room",
            id="last_room_never_used",
        ),
        pytest.param(
            "taken.eq(self.beat.valid & self.beat.ready)",
            "taken.eq(self.beat.ready)",
            "has_room_for_all_that_is_under_way",
            id="room_given_back_for_nothing",
        ),
        pytest.param(
            "free.eq(free + 1)",
            "free.eq(free)",
            "asks_as_soon_as_there_is_room",
            id="room_never_given_back",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = stream_harness(planted(ReadStream, (was, becomes)), 8)
    assert breaks(harness, broken, tmp_path, steps=9)

"""What the WriteMaster remembers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Mux
from amaranth.lib import data

from tandem.hw.axi import ID_BITS
from tandem.hw.rtl.layouts import burst_layout, clog2, strobed_layout
from tandem.hw.storage import BEATS_BITS, INDEX_BITS
from tandem.hw.timing import OUT_QUEUE_BEATS
from tests.formal.harness import implies
from tests.formal.writes import Writes

WAITING = data.StructLayout({"writes": 1, "ends": 1, "push": 1, "index": INDEX_BITS})
"""What the master remembers of an order."""


def look_at_orders(writes: Writes) -> None:
    """Orders, and the responses that wait for them."""
    harness, config = writes.harness, writes.config
    depth = 1 << clog2(config.writes_in_flight)
    bits = clog2(depth) + 1
    orders = harness.queue_at("dut.outstanding_writes", depth, WAITING.size)
    level = harness.peek("dut.outstanding_writes.level", bits)
    harness.invariant("orders_are_the_open", level == writes.open)

    def word(place: Any) -> Any:
        return data.View(WAITING, orders(place))

    # The oldest bursts of open orders have a response that is counted, the others have none.
    responses = harness.peek("dut.responses.level", bits)
    errors = harness.queue_at("dut.responses", depth, 1)

    def bursts_of(orders: Any) -> Any:
        return sum((place < orders) & word(Const(place)).writes for place in range(depth))

    ahead = bursts_of(writes.order.ahead)
    follows = writes.order.active & writes.what.writes
    answered = (responses > ahead) & (writes.error == errors(ahead))
    unanswered = ahead == writes.unanswered_ahead + responses
    expected = Mux(writes.is_answered, answered, unanswered)
    harness.invariant("responses_are_of_open", bursts_of(level) == writes.unanswered + responses)
    harness.invariant("responses_are_of_the_oldest", implies(follows, expected))
    harness.invariant("pending_are_unanswered", writes.pending_open <= writes.unanswered)
    order, mine, what = writes.order, word(writes.order.ahead), writes.what
    harness.invariant("is_among_the_open", implies(order.active, order.ahead < writes.open))
    for name in WAITING.members:
        same = mine[name] == what[name]
        harness.invariant(f"keeps_{name}", implies(order.active, same))
    newest = Mux(writes.pending_open == 0, 0, writes.pending)
    harness.invariant("open_or_given_up", writes.pending_open == newest)


def look_at_bursts(writes: Writes) -> None:
    """Bursts that are not sent."""
    harness, burst = writes.harness, writes.burst
    depth = 1 << clog2(writes.config.writes_in_flight)
    bits = clog2(depth) + 1
    harness.queue_at("dut.outstanding_writes", depth, WAITING.size)
    level = harness.peek("dut.outstanding_writes.level", bits)
    harness.invariant("orders_are_the_open", level == writes.open)
    harness.invariant("at_most_so_many", level <= writes.config.writes_in_flight)
    harness.invariant("none_open_then", implies(writes.flushing, writes.open == 0))
    open_unsent = writes.unsent - writes.given_up
    harness.invariant("unsent_are_unanswered", open_unsent <= writes.unanswered)
    lengths, known, new = look_at_lengths(writes)
    look_at_queue(writes)
    sent = harness.peek("dut.sent", BEATS_BITS)
    harness.invariant("is_among_the_unsent", implies(burst.active, burst.ahead < writes.unsent))
    layout = burst_layout(writes.config)
    register = data.StructLayout({"valid": 1, "id": ID_BITS, "burst": layout})
    newest = data.View(register, harness.peek("dut.address", register.size)).burst.beats
    length = Mux(new & (burst.ahead == known), newest, lengths(burst.ahead))
    harness.invariant("keeps_the_beats", implies(burst.active, length == writes.beats))
    harness.invariant("has_beats", implies(burst.active, writes.beats != 0))
    harness.invariant("counts_beats", implies(burst.is_next, writes.got < writes.beats))
    harness.invariant("counts_as_the_master", implies(burst.is_next, writes.got == sent))
    harness.invariant("from_the_first", implies(~burst.is_next, writes.got == 0))
    harness.invariant("nothing_sent_of_nothing", implies(known == 0, sent == 0))


def look_at_beats(writes: Writes) -> None:
    """The beats that wait."""
    harness, beat = writes.harness, writes.beat
    look_at_lengths(writes)
    layout = strobed_layout(writes.config)
    beats = look_at_queue(writes)
    harness.invariant("real_are_queued", writes.real <= writes.queued)
    harness.invariant("all_are_real", implies(~writes.flushing, writes.real == writes.queued))
    harness.invariant("is_among_the_real", implies(beat.active, beat.ahead < writes.real))
    harness.invariant("keeps_the_beat", implies(beat.active, beats(beat.ahead) == beat.word))
    for place in range(OUT_QUEUE_BEATS):
        fills = (place >= writes.real) & (place < writes.queued)
        strobe = data.View(layout, beats(Const(place))).strobe
        harness.invariant(f"beat_{place}_fills", implies(fills, strobe == 0))


def look_at_lengths(writes: Writes) -> tuple[Any, Any, Any]:
    """The lengths of bursts that are not sent, how many, and whether there is a new address."""
    harness = writes.harness
    depth = 1 << clog2(writes.config.writes_in_flight)
    bits = clog2(depth) + 1
    lengths = harness.queue_at("dut.lengths", depth, BEATS_BITS)
    known = harness.peek("dut.lengths.level", bits)
    new = harness.peek("dut.new_address", 1)
    flushing = harness.peek("dut.flushing", 1)
    harness.invariant("lengths_are_the_unsent", known + new == writes.unsent)
    harness.invariant("flushing_is_known", flushing == writes.flushing)
    harness.invariant("flushing_is_fenced", implies(writes.fences.fenced, writes.flushing))
    harness.invariant("nothing_new_then", implies(writes.flushing, ~new))
    given_up = Mux(writes.flushing, writes.unsent, 0)
    harness.invariant("all_unsent_were_given_up", writes.given_up == given_up)
    return lengths, known, new


def look_at_queue(writes: Writes) -> Any:
    """The beats that wait."""
    harness = writes.harness
    width = strobed_layout(writes.config).size
    beats = harness.queue_at("dut.out_queue", OUT_QUEUE_BEATS, width)
    level = harness.peek("dut.out_queue.level", clog2(OUT_QUEUE_BEATS) + 1)
    harness.invariant("queued_are_known", level == writes.queued)
    return beats

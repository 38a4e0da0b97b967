"""What is claimed of the WriteMaster, with any orders and a memory that keeps to the rules."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.lib import data

from hw.axi import INCR
from hw.config import HardwareConfig
from hw.rtl.layouts import burst_layout, clog2, order_layout
from hw.storage import BEATS_BITS, INDEX_BITS
from tests.formal.harness import Follower, Harness, implies

MOST_BEATS = 256
WAITING = data.StructLayout({"writes": 1, "ends": 1, "push": 1, "index": INDEX_BITS})
"""What the master remembers of an order."""


class Writes:
    """A WriteMaster with any orders and beats, and a memory that takes and answers at any time.

    Attributes
    ----------
    accepted, writes
        An order is accepted in this cycle; one with a burst.
    issued, sent, answered
        AW is taken, the last beat of a burst is taken, or an acknowledgement is, in this cycle.
    open
        Orders that are not done.
    pending, unsent, unanswered
        Bursts whose address was not taken; whose last beat was not; that are not acknowledged.
    order, what
        One of the open orders; all of it.
    unanswered_ahead, is_answered, error
        Bursts ahead of that order that are not acknowledged; whether its own is; the error bit.
    answered_now
        The burst of that order is acknowledged in this cycle.
    burst, beats
        One of the bursts that are not sent; its beats.
    got
        Beats of it that were taken.
    """

    def __init__(self, master: Any, config: HardwareConfig) -> None:
        self.harness = harness = Harness()
        self.config = config
        self.dut = dut = master(config)
        harness.module.submodules.dut = dut
        axi, self.client = dut.axi, dut.client
        client, order = self.client, dut.client.order.payload
        harness.free(
            client.order.valid,
            client.order.payload,
            client.beat.valid,
            client.beat.payload,
        )
        harness.free(axi.awready, axi.wready, axi.bvalid, axi.bresp)
        beats = order.burst.beats
        some = (beats != 0) & (beats <= MOST_BEATS)
        harness.suppose(implies(client.order.valid & order.writes, some))

        self.accepted = client.order.valid & client.order.ready
        self.writes = self.accepted & order.writes
        self.issued = axi.awvalid & axi.awready
        self.moved = axi.wvalid & axi.wready
        self.sent = self.moved & axi.wlast
        self.answered = axi.bvalid & axi.bready
        bits = clog2(config.writes_in_flight) + 2
        self.open = harness.counter(bits, self.accepted, client.done)
        self.pending = harness.counter(bits, self.writes, self.issued)
        self.unsent = harness.counter(bits, self.writes, self.sent)
        self.unanswered = harness.counter(bits, self.writes, self.answered)
        # Memory acknowledges a burst once it has its address and all its data (A3.3.1).
        whole = (self.unanswered > self.pending) & (self.unanswered > self.unsent)
        harness.suppose(implies(axi.bvalid, whole))
        self._follow(bits)

    def _follow(self, bits: int) -> None:
        harness, client = self.harness, self.client
        order = client.order.payload
        self.order = Follower(
            harness,
            comes=self.accepted,
            leaves=client.done,
            waiting=self.open,
            word=order,
            bits=bits,
        )
        self.what = data.View(order_layout(self.config), self.order.word)
        self.unanswered_ahead = Signal(bits)
        self.is_answered = Signal()
        self.error = Signal()
        waits = self.order.active & self.what.writes & ~self.is_answered
        self.answered_now = waits & (self.unanswered_ahead == 0) & self.answered
        m = harness.module
        with m.If(self.order.starts):
            m.d.sync += [
                self.unanswered_ahead.eq(self.unanswered - self.answered),
                self.is_answered.eq(0),
            ]
        with m.Elif(self.answered_now):
            m.d.sync += [self.is_answered.eq(1), self.error.eq(self.dut.axi.bresp[1])]
        with m.Elif(self.answered):
            m.d.sync += self.unanswered_ahead.eq(self.unanswered_ahead - 1)
        self.burst = Follower(
            harness,
            comes=self.writes,
            leaves=self.sent,
            waiting=self.unsent,
            word=order.burst.beats,
            bits=bits,
        )
        self.beats = self.burst.word
        self.got = Signal(BEATS_BITS)
        moves = self.burst.is_next & self.moved
        going_on = Mux(moves, self.got + 1, self.got)
        harness.sync(self.got.eq(Mux(self.sent, 0, going_on)))


def write_harness(master: Any, config: HardwareConfig) -> Harness:
    """All that is claimed of a WriteMaster."""
    writes = Writes(master, config)
    claim_orders(writes)
    claim_addresses(writes)
    claim_data(writes)
    claim_answers(writes)
    look_inside(writes)
    harness, dut = writes.harness, writes.dut
    many = config.writes_in_flight
    harness.reach("as_many_open_as_may_be", (writes.open == many) & (writes.unanswered == many))
    harness.reach("data_before_awready", writes.sent & dut.axi.awvalid & ~dut.axi.awready)
    harness.reach("burst_of_two_beats", writes.sent & writes.burst.is_next & (writes.got == 1))
    harness.reach("a_burst_each_cycle", writes.sent & harness.delayed(writes.sent))
    client = writes.client
    mine = client.done & writes.order.is_next
    second = harness.delayed(writes.order.ahead) == 1
    harness.reach("order_without_a_burst", mine & ~writes.what.writes & second)
    harness.reach("later_order_refused", mine & client.fault & second)
    if many > 2:
        # It takes an order without a burst between one that waits and one that is complete.
        harness.reach("response_waits", mine & writes.is_answered)
        harness.reach("error_waits", mine & writes.is_answered & client.fault)
    return harness


def claim_orders(writes: Writes) -> None:
    """Which orders are accepted, and when; and that they are done in turn."""
    harness, client, axi = writes.harness, writes.client, writes.dut.axi
    order, what = writes.order, writes.what
    most = writes.config.writes_in_flight
    free = ~axi.awvalid | axi.awready | ~client.order.payload.writes
    harness.must("at_most_so_many_open", writes.open <= most)
    harness.must("ready_as_soon_as_it_may", client.order.ready == ((writes.open < most) & free))
    mine = client.done & order.is_next
    harness.must("done_is_of_an_order", implies(client.done, writes.open != 0))
    # In the cycle after its response, at the earliest.
    harness.must("done_when_acknowledged", implies(mine & what.writes, writes.is_answered))
    ready = order.is_next & what.writes & writes.is_answered
    harness.must("acknowledged_is_done", implies(ready, client.done))
    harness.must("done_at_once_without_a_burst", implies(order.is_next & ~what.writes, client.done))
    harness.must("done_names_its_own", implies(mine, client.index == what.index))
    harness.must("done_ends_its_own", implies(mine, client.ends == what.ends))
    harness.must("done_pushes_its_own", implies(mine, client.push == (what.ends & what.push)))
    harness.must(
        "nothing_ends_by_itself",
        implies(client.ends | client.push | client.fault, client.done),
    )
    error = what.writes & writes.error
    harness.must("fault_is_its_own_error", implies(mine, client.fault == error))
    harness.must("idle_when_nothing_is_open", client.idle == (writes.open == 0))


def claim_addresses(writes: Writes) -> None:
    """The AW channel."""
    harness, axi, config = writes.harness, writes.dut.axi, writes.config
    last = Signal(burst_layout(config))
    taken = writes.dut.client.order.payload.burst
    harness.sync(last.eq(Mux(writes.writes, taken.as_value(), last.as_value())))
    harness.must("each_burst_has_one_address", axi.awvalid == (writes.pending != 0))
    harness.must("one_address_at_a_time", writes.pending <= 1)
    harness.must("address_is_the_bursts", implies(axi.awvalid, axi.awaddr == last.address))
    harness.must("length_is_the_bursts", implies(axi.awvalid, axi.awlen + 1 == last.beats))
    harness.must("one_id", axi.awid == 0)
    harness.must("size_is_a_beat", axi.awsize == clog2(config.bus_bytes))
    harness.must("bursts_increment", axi.awburst == INCR)
    harness.must("cache_as_configured", axi.awcache == config.axi_cache)
    harness.must("prot_as_configured", axi.awprot == config.axi_prot)
    constant = Cat(axi.awid, axi.awsize, axi.awburst, axi.awcache, axi.awprot)
    harness.steady("aw", axi.awvalid, axi.awready, axi.awaddr, axi.awlen, constant)


def claim_data(writes: Writes) -> None:
    """The W channel. A stream of beats that keeps its promises is assumed for its steadiness."""
    harness, client, axi = writes.harness, writes.client, writes.dut.axi
    beat = client.beat.payload
    held = harness.delayed(client.beat.valid & ~client.beat.ready)
    same = harness.delayed(beat) == beat.as_value()
    harness.suppose(implies(held, client.beat.valid & same))
    harness.must("no_data_without_a_burst", implies(axi.wvalid, writes.unsent != 0))
    # A burst accepted in the cycle before has its first cycle on AW now; its data waits for one
    # cycle more. AWREADY is not waited for.
    fresh = harness.delayed(writes.writes)
    shown = Mux(fresh, writes.unsent - 1, writes.unsent)
    harness.must("data_after_its_address", implies(axi.wvalid, shown != 0))
    harness.must("data_waits_for_nothing_else", axi.wvalid == (client.beat.valid & (shown != 0)))
    harness.must("beat_is_taken_once", (client.beat.valid & client.beat.ready) == writes.moved)
    harness.must("moving_tells_so", client.moving == writes.moved)
    harness.must("data_is_the_beats", axi.wdata == beat.data)
    harness.must("strobe_is_the_beats", axi.wstrb == beat.strobe)
    mine = writes.burst.is_next & axi.wvalid
    last = writes.got + 1 == writes.beats
    harness.must("last_exactly_on_the_last_beat", implies(mine, axi.wlast == last))
    harness.steady("w", axi.wvalid, axi.wready, axi.wdata, axi.wstrb, axi.wlast)


def claim_answers(writes: Writes) -> None:
    """The B channel."""
    writes.harness.must("no_response_waits", writes.dut.axi.bready)


def look_inside(writes: Writes) -> None:
    """What the master remembers."""
    harness, config = writes.harness, writes.config
    depth = 1 << clog2(config.writes_in_flight)
    bits = clog2(depth) + 1
    orders = harness.queue_at("dut.outstanding_writes", depth, WAITING.size)
    lengths = harness.queue_at("dut.lengths", depth, BEATS_BITS)
    level = harness.peek("dut.outstanding_writes.level", bits)
    known = harness.peek("dut.lengths.level", bits)
    new = harness.peek("dut.new_address", 1)
    sent = harness.peek("dut.sent", BEATS_BITS)
    harness.invariant("orders_are_the_open", level == writes.open)
    harness.invariant("lengths_are_the_unsent", known + new == writes.unsent)

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
    harness.invariant("pending_are_unanswered", writes.pending <= writes.unanswered)
    harness.invariant("unsent_are_unanswered", writes.unsent <= writes.unanswered)
    order, mine, what = writes.order, word(writes.order.ahead), writes.what
    harness.invariant("is_among_the_open", implies(order.active, order.ahead < writes.open))
    for name in WAITING.members:
        same = mine[name] == what[name]
        harness.invariant(f"keeps_{name}", implies(order.active, same))

    burst = writes.burst
    harness.invariant("is_among_the_unsent", implies(burst.active, burst.ahead < writes.unsent))
    register = data.StructLayout({"valid": 1, "burst": burst_layout(config)})
    newest = data.View(register, harness.peek("dut.address", register.size)).burst.beats
    length = Mux(new & (burst.ahead == known), newest, lengths(burst.ahead))
    harness.invariant("keeps_the_beats", implies(burst.active, length == writes.beats))
    harness.invariant("has_beats", implies(burst.active, writes.beats != 0))
    harness.invariant("counts_beats", implies(burst.is_next, writes.got < writes.beats))
    harness.invariant("counts_as_the_master", implies(burst.is_next, writes.got == sent))
    harness.invariant("from_the_first", implies(~burst.is_next, writes.got == 0))
    harness.invariant("nothing_sent_of_nothing", implies(known == 0, sent == 0))

"""What is claimed of the WriteMaster: of its orders and bursts in one proof, of beats in another.

Of a burst that a fence gave up, what AXI4 wants is still claimed: that its address is offered until
it is taken, and that it gets all its data.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Mux, Signal

from hw.axi import ID_BITS, INCR
from hw.config import HardwareConfig
from hw.rtl.layouts import burst_layout, clog2
from hw.timing import OUT_QUEUE_BEATS
from tests.formal.harness import Harness, implies
from tests.formal.inside_writes import look_at_beats, look_at_bursts, look_at_orders
from tests.formal.writes import Writes


def write_harness(master: Any, config: HardwareConfig) -> Harness:
    """What is claimed of orders and bursts."""
    writes = Writes(master, config)
    claim_orders(writes)
    claim_addresses(writes)
    claim_data(writes)
    claim_answers(writes)
    claim_fences(writes)
    look_at_orders(writes)
    look_at_bursts(writes)
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


def beat_harness(master: Any, config: HardwareConfig) -> Harness:
    """What is claimed of beats."""
    writes = Writes(master, config)
    harness, axi, beat = writes.harness, writes.dut.axi, writes.beat
    # Of the other proof, `at_most_so_many_unsent` and `sent_before_it_is_done`.
    harness.suppose(writes.unsent <= config.writes_in_flight)
    harness.suppose(implies(writes.open == 0, writes.unsent == writes.given_up))
    mine = axi.wvalid & beat.is_next
    harness.must("data_is_the_beats", implies(mine, axi.wdata == writes.payload.data))
    harness.must("strobe_is_the_beats", implies(mine, axi.wstrb == writes.payload.strobe))
    fills = axi.wvalid & (writes.real == 0)
    harness.must("what_fills_writes_nothing", implies(fills, axi.wstrb == 0))
    harness.steady("w", axi.wvalid, axi.wready, axi.wdata, axi.wstrb, axi.wlast)
    look_at_beats(writes)
    full = writes.queued == OUT_QUEUE_BEATS
    harness.reach("full", full & ~writes.flushing)
    harness.reach("full_and_restarted", full & writes.fences.restart & ~writes.flushing)
    harness.reach("given_up_and_sent", writes.moved & writes.flushing & beat.is_next)
    harness.reach("filled_up", writes.sent & fills)
    later = writes.fences.epoch == 1
    harness.reach("served_after_a_fence", mine & later & ~writes.flushing)
    return harness


def claim_orders(writes: Writes) -> None:
    """Which orders are accepted, and when; and that they are done in turn."""
    harness, client, axi = writes.harness, writes.client, writes.dut.axi
    order, what = writes.order, writes.what
    most = writes.config.writes_in_flight
    free = ~axi.awvalid | axi.awready | ~client.order.payload.writes
    harness.must("at_most_so_many_open", writes.open <= most)
    possible = (writes.open < most) & free & ~writes.flushing
    harness.must("ready_as_soon_as_it_may", client.order.ready == possible)
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
    last_id = Signal(ID_BITS)
    taken = writes.dut.client.order.payload.burst
    harness.sync(
        last.eq(Mux(writes.writes, taken.as_value(), last.as_value())),
        last_id.eq(Mux(writes.writes, writes.fences.epoch, last_id)),
    )
    harness.must("each_burst_has_one_address", axi.awvalid == (writes.pending != 0))
    harness.must("one_address_at_a_time", writes.pending <= 1)
    harness.must("address_is_the_bursts", implies(axi.awvalid, axi.awaddr == last.address))
    harness.must("length_is_the_bursts", implies(axi.awvalid, axi.awlen + 1 == last.beats))
    harness.must("id_is_the_epoch_of_its_order", implies(axi.awvalid, axi.awid == last_id))
    harness.must("size_is_a_beat", axi.awsize == clog2(config.bus_bytes))
    harness.must("bursts_increment", axi.awburst == INCR)
    harness.must("cache_as_configured", axi.awcache == config.axi_cache)
    harness.must("prot_as_configured", axi.awprot == config.axi_prot)
    constant = Cat(axi.awid, axi.awsize, axi.awburst, axi.awcache, axi.awprot)
    harness.steady("aw", axi.awvalid, axi.awready, axi.awaddr, axi.awlen, constant)


def claim_data(writes: Writes) -> None:
    """The W channel, and the beats that wait for it."""
    harness, client, axi = writes.harness, writes.client, writes.dut.axi
    harness.must("no_data_without_a_burst", implies(axi.wvalid, writes.unsent != 0))
    # A burst accepted in the cycle before has its first cycle on AW now; its data waits for one
    # cycle more. AWREADY is not waited for.
    fresh = harness.delayed(writes.writes)
    shown = Mux(fresh, writes.unsent - 1, writes.unsent)
    harness.must("data_after_its_address", implies(axi.wvalid, shown != 0))
    waits = (writes.queued != 0) & (shown != 0)
    harness.must("data_waits_for_nothing_else", axi.wvalid == waits)
    harness.must("moving_tells_so", client.moving == writes.moved)
    told = Mux(writes.flushing, OUT_QUEUE_BEATS, writes.queued)
    harness.must("waiting_counts_beats", client.waiting == told)
    mine = writes.burst.is_next & axi.wvalid
    last = writes.got + 1 == writes.beats
    harness.must("last_exactly_on_the_last_beat", implies(mine, axi.wlast == last))
    # With the lengths of so many, the master's memory of them is full.
    harness.must("at_most_so_many_unsent", writes.unsent <= writes.config.writes_in_flight)
    given_up = writes.unsent == writes.given_up
    harness.must("sent_before_it_is_done", implies(writes.open == 0, given_up))


def claim_answers(writes: Writes) -> None:
    """The B channel."""
    writes.harness.must("no_response_waits", writes.dut.axi.bready)


def claim_fences(writes: Writes) -> None:
    """What a fence ends, in the next cycle, and what it does not; and what can happen after it."""
    harness, dut, client, axi = writes.harness, writes.dut, writes.client, writes.dut.axi
    after = harness.delayed(dut.fence)
    harness.must("idle_after_a_fence", implies(after, client.idle & ~client.done))
    of_bursts = axi.awvalid | (writes.unsent != 0)
    harness.must("owes_orders_and_bursts", dut.owes == (of_bursts | (writes.open != 0)))
    moves = writes.issued | writes.moved | axi.bvalid | client.done
    harness.must("moves_tells_so", dut.moves == moves)
    old = axi.awvalid & (axi.awid != writes.fences.epoch)
    harness.reach("address_given_up_and_held", old & harness.delayed(after) & ~axi.awready)
    harness.reach("new_behind_a_held_address", old & writes.writes)
    harness.reach("given_up_twice", dut.fence & (writes.given_up != 0))
    served = client.done & writes.order.is_next & writes.what.writes & (writes.fences.epoch == 1)
    harness.reach("served_after_a_fence", served)

"""What is claimed of the WriteMaster: of orders, of bursts and of beats, a proof each.

Of a burst that a fence gave up, what AXI4 wants is still claimed: that its address is offered until
it is taken, and that it gets all its data.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Mux, Signal

from tandem.hw.axi import ID_BITS, INCR
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.layouts import burst_layout, clog2
from tandem.hw.timing import OUT_QUEUE_BEATS
from tests.formal.harness import Harness, implies
from tests.formal.inside_writes import look_at_beats, look_at_bursts, look_at_orders
from tests.formal.writes import Writes


def order_harness(master: Any, config: HardwareConfig) -> Harness:
    """What is claimed of orders: their addresses and acknowledgements."""
    writes = Writes(master, config, hasty=True)
    claim_orders(writes)
    claim_addresses(writes)
    look_at_orders(writes)
    harness, client, many = writes.harness, writes.client, config.writes_in_flight
    harness.reach("as_many_open_as_may_be", (writes.open == many) & (writes.unanswered == many))
    mine = client.done & writes.order.is_next
    second = harness.delayed(writes.order.ahead) == 1
    harness.reach("order_without_a_burst", mine & ~writes.what.writes & second)
    harness.reach("later_order_refused", mine & client.fault & second)
    served = mine & writes.what.writes & (writes.fences.epoch == 1)
    harness.reach("served_after_a_fence", served)
    if many > 2:
        # It takes an order without a burst between one that waits and one that is complete.
        harness.reach("response_waits", mine & writes.is_answered)
        harness.reach("error_waits", mine & writes.is_answered & client.fault)
    return harness


def burst_harness(master: Any, config: HardwareConfig) -> Harness:
    """What is claimed of bursts that are to be sent."""
    writes = Writes(master, config)
    harness, axi = writes.harness, writes.dut.axi
    # The first proof's `no_more_unanswered`.
    harness.suppose(writes.unanswered <= writes.open)
    claim_bursts(writes)
    look_at_bursts(writes)
    harness.reach("data_before_awready", writes.sent & axi.awvalid & ~axi.awready)
    harness.reach("burst_of_two_beats", writes.sent & writes.burst.is_next & (writes.got == 1))
    harness.reach("a_burst_each_cycle", writes.sent & harness.delayed(writes.sent))
    harness.reach("given_up_and_sent", writes.sent & writes.flushing & writes.burst.is_next)
    harness.reach("given_up_twice", writes.dut.fence & (writes.given_up != 0))
    later = writes.fences.epoch == 1
    harness.reach("served_after_a_fence", writes.sent & later & ~writes.flushing)
    return harness


def beat_harness(master: Any, config: HardwareConfig) -> Harness:
    """What is claimed of beats."""
    writes = Writes(master, config)
    harness, axi, beat = writes.harness, writes.dut.axi, writes.beat
    # The second proof's `at_most_so_many_unsent` and `sent_before_it_is_done`.
    harness.suppose(writes.unsent <= config.writes_in_flight)
    harness.suppose(implies(writes.open == 0, writes.unsent == writes.given_up))
    claim_beats(writes)
    look_at_beats(writes)
    full = writes.queued == OUT_QUEUE_BEATS
    harness.reach("full", full & ~writes.flushing)
    harness.reach("full_and_restarted", full & writes.fences.restart & ~writes.flushing)
    harness.reach("given_up_and_sent", writes.moved & writes.flushing & beat.is_next)
    harness.reach("filled_up", writes.sent & (writes.real == 0))
    later = axi.wvalid & beat.is_next & (writes.fences.epoch == 1)
    harness.reach("served_after_a_fence", later & ~writes.flushing)
    return harness


def claim_orders(writes: Writes) -> None:
    """How many orders are accepted; and that they are done in turn."""
    harness, client, dut = writes.harness, writes.client, writes.dut
    order, what = writes.order, writes.what
    most = writes.config.writes_in_flight
    harness.must("at_most_so_many_open", writes.open <= most)
    harness.must("no_more_unanswered", writes.unanswered <= writes.open)
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
    after = harness.delayed(dut.fence)
    harness.must("idle_after_a_fence", implies(after, client.idle & ~client.done))
    harness.must("no_response_waits", dut.axi.bready)


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
    old = axi.awvalid & (axi.awid != writes.fences.epoch)
    held = harness.delayed(harness.delayed(writes.dut.fence))
    harness.reach("address_given_up_and_held", old & held & ~axi.awready)
    harness.reach("new_behind_a_held_address", old & writes.writes)


def claim_bursts(writes: Writes) -> None:
    """When orders are accepted, and their data is sent."""
    harness, dut, client, axi = writes.harness, writes.dut, writes.client, writes.dut.axi
    most = writes.config.writes_in_flight
    free = ~axi.awvalid | axi.awready | ~client.order.payload.writes
    possible = (writes.open < most) & free & ~writes.flushing
    harness.must("ready_as_soon_as_it_may", client.order.ready == possible)
    harness.must("no_data_without_a_burst", implies(axi.wvalid, writes.unsent != 0))
    # A burst accepted in the cycle before has its first cycle on AW now; its data waits for one
    # cycle more. AWREADY is not waited for.
    fresh = harness.delayed(writes.writes)
    shown = Mux(fresh, writes.unsent - 1, writes.unsent)
    harness.must("data_after_its_address", implies(axi.wvalid, shown != 0))
    waits = (writes.queued != 0) & (shown != 0)
    harness.must("data_waits_for_nothing_else", axi.wvalid == waits)
    harness.must("moving_is_of_a_beat", client.moving == writes.moved)
    told = Mux(writes.flushing, OUT_QUEUE_BEATS, writes.queued)
    harness.must("waiting_counts_beats", client.waiting == told)
    harness.must("at_most_so_many_unsent", writes.unsent <= most)
    given_up = writes.unsent == writes.given_up
    harness.must("sent_before_it_is_done", implies(writes.open == 0, given_up))
    mine = writes.burst.is_next & axi.wvalid
    last = writes.got + 1 == writes.beats
    harness.must("last_exactly_on_the_last_beat", implies(mine, axi.wlast == last))
    of_bursts = axi.awvalid | (writes.unsent != 0)
    harness.must("owes_orders_and_bursts", dut.owes == (of_bursts | (writes.open != 0)))
    moves = writes.issued | writes.moved | axi.bvalid | client.done
    harness.must("moves_tells_so", dut.moves == moves)


def claim_beats(writes: Writes) -> None:
    """The W channel."""
    harness, axi = writes.harness, writes.dut.axi
    # As many are sent as were given, in the same order.
    mine = axi.wvalid & writes.beat.is_next
    harness.must("data_is_the_beats", implies(mine, axi.wdata == writes.payload.data))
    harness.must("strobe_is_the_beats", implies(mine, axi.wstrb == writes.payload.strobe))
    fills = axi.wvalid & (writes.real == 0)
    harness.must("what_fills_writes_nothing", implies(fills, axi.wstrb == 0))
    harness.steady("w", axi.wvalid, axi.wready, axi.wdata, axi.wstrb, axi.wlast)

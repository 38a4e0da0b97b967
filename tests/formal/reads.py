"""What is claimed of the ReadMaster, among clients and a memory that keep to the rules.

Of a burst that a fence gave up, only the address is still claimed to be offered until it is taken.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from tandem.hw.axi import ID_BITS, INCR
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.layouts import burst_layout, clog2
from tandem.hw.storage import BEATS_BITS
from tandem.hw.timing import READ_PRIORITY
from tests.formal.fences import Fences
from tests.formal.harness import Follower, Harness, implies

CLIENT_BITS = clog2(len(READ_PRIORITY))
MOST_BEATS = 256


class Reads:
    """A ReadMaster among clients that ask for anything, and a memory that answers at any time.

    Attributes
    ----------
    asks, grants
        A bit for each client: it offers a burst; it is accepted.
    granted, burst
        Some burst is accepted in this cycle; which.
    fences
        When bursts are given up.
    issued, comes, answered
        AR is taken, a beat of this epoch arrives, or the last one of a burst, in this cycle.
    open
        Bursts, not given up, whose last beat has not arrived.
    pending, pending_open
        Bursts whose address was not taken yet; those of them that are open.
    read, what
        One of the open bursts; its `burst` and its `client`.
    arrives
        A beat of it arrives in this cycle.
    """

    def __init__(self, master: Any, config: HardwareConfig) -> None:
        self.harness = harness = Harness()
        self.config = config
        self.dut = dut = master(config)
        harness.module.submodules.dut = dut
        axi = dut.axi
        self.clients = [getattr(dut, name) for name in READ_PRIORITY]
        self.fences = Fences(harness, dut)
        harness.free(axi.arready, axi.rvalid, axi.rid, axi.rdata, axi.rresp, axi.rlast)
        for client in self.clients:
            beats = client.request.payload.beats
            harness.free(client.request.valid, client.request.payload)
            harness.suppose(implies(client.request.valid, (beats != 0) & (beats <= MOST_BEATS)))

        self.asks = Cat(client.request.valid for client in self.clients)
        self.grants = Cat(client.request.valid & client.request.ready for client in self.clients)
        self.granted = self.grants.any()
        self.burst = Signal(burst_layout(config))
        first, second, third = (Value.cast(client.request.payload) for client in self.clients)
        chosen = Mux(self.grants[0], first, Mux(self.grants[1], second, third))
        harness.comb(self.burst.eq(chosen))
        self.issued = axi.arvalid & axi.arready
        self.comes = axi.rvalid & (axi.rid == self.fences.epoch)
        self.answered = self.comes & axi.rlast
        bits = clog2(config.reads_in_flight) + 2
        self.open = harness.counter(bits, self.granted, self.answered, clear=dut.fence)
        self.pending = harness.counter(bits, self.granted, self.issued)
        self.pending_open = Signal(bits)
        issued_open = self.issued & (self.pending_open != 0)
        going_on = self.pending_open + self.granted - issued_open
        harness.sync(self.pending_open.eq(Mux(dut.fence, 0, going_on)))
        # Memory answers no address that it has not taken; with an ID of before, at any time.
        harness.suppose(implies(self.comes, self.open != self.pending_open))
        self._follow(bits)

    def _follow(self, bits: int) -> None:
        """Memory sends as many beats as it was asked for; what it sends for others is free."""
        harness = self.harness
        axi = self.dut.axi
        client = Mux(self.grants[0], 0, Mux(self.grants[1], 1, 2))
        self.read = Follower(
            harness,
            comes=self.granted,
            leaves=self.answered,
            waiting=self.open,
            word=Cat(self.burst, Value.cast(client)[:CLIENT_BITS]),
            bits=bits,
            dropped=self.dut.fence,
        )
        layout = data.StructLayout({"burst": burst_layout(self.config), "client": CLIENT_BITS})
        self.what = data.View(layout, self.read.word)
        self.arrives = self.read.is_next & self.comes
        self.got = Signal(BEATS_BITS)
        going_on = Mux(self.arrives, Mux(axi.rlast, 0, self.got + 1), self.got)
        harness.sync(self.got.eq(Mux(self.dut.fence, 0, going_on)))
        whole = self.got + 1 == self.what.burst.beats
        harness.suppose(implies(self.arrives, axi.rlast == whole))


def read_harness(master: Any, config: HardwareConfig) -> Harness:
    """All that is claimed of a ReadMaster."""
    reads = Reads(master, config)
    claim_grants(reads)
    claim_addresses(reads)
    claim_answers(reads)
    look_inside(reads)
    harness = reads.harness
    if config.reads_in_flight <= 8:
        # Of more, a run is long, and the solver takes minutes.
        harness.reach("as_many_open_as_may_be", reads.open == config.reads_in_flight)
    harness.reach("halted_with_bursts_open", reads.dut.halt & reads.asks.any() & (reads.open > 1))
    second = harness.delayed(reads.read.ahead) == 1
    harness.reach("second_burst_of_two_beats", reads.answered & reads.arrives & (reads.got == 1))
    harness.reach("later_burst_answered", reads.answered & reads.arrives & second)
    harness.reach("a_grant_each_cycle", reads.granted & harness.delayed(reads.granted))
    claim_fences(reads)
    return harness


def claim_grants(reads: Reads) -> None:
    """Which bursts are accepted, and when."""
    harness, dut, axi = reads.harness, reads.dut, reads.dut.axi
    fewer = reads.open < reads.config.reads_in_flight
    possible = (~axi.arvalid | axi.arready) & fewer & ~dut.halt
    harness.must("at_most_so_many_open", reads.open <= reads.config.reads_in_flight)
    harness.must("nothing_new_after_halt", implies(dut.halt, ~reads.granted))
    harness.must("accepts_as_soon_as_it_may", reads.granted == (reads.asks.any() & possible))
    harness.must("first_before_second", implies(reads.grants[1], ~reads.asks[0]))
    harness.must("third_is_last", implies(reads.grants[2], ~reads.asks[:2].any()))


def claim_addresses(reads: Reads) -> None:
    """The AR channel."""
    harness, dut, axi, config = reads.harness, reads.dut, reads.dut.axi, reads.config
    last = Signal(burst_layout(config))
    last_id = Signal(ID_BITS)
    harness.sync(
        last.eq(Mux(reads.granted, reads.burst.as_value(), last.as_value())),
        last_id.eq(Mux(reads.granted, reads.fences.epoch, last_id)),
    )
    harness.must("each_burst_has_one_address", axi.arvalid == (reads.pending != 0))
    harness.must("one_address_at_a_time", reads.pending <= 1)
    harness.must("address_is_the_bursts", implies(axi.arvalid, axi.araddr == last.address))
    harness.must("length_is_the_bursts", implies(axi.arvalid, axi.arlen + 1 == last.beats))
    harness.must("id_is_the_epoch_of_its_grant", implies(axi.arvalid, axi.arid == last_id))
    harness.must("size_is_a_beat", axi.arsize == clog2(config.bus_bytes))
    harness.must("bursts_increment", axi.arburst == INCR)
    harness.must("cache_as_configured", axi.arcache == config.axi_cache)
    harness.must("prot_as_configured", axi.arprot == config.axi_prot)
    harness.must("owes_addresses_and_answers", dut.owes == (axi.arvalid | (reads.open != 0)))
    harness.must("moves_tells_so", dut.moves == (reads.issued | axi.rvalid))
    constant = Cat(axi.arid, axi.arsize, axi.arburst, axi.arcache, axi.arprot)
    harness.steady("ar", axi.arvalid, axi.arready, axi.araddr, axi.arlen, constant)


def claim_answers(reads: Reads) -> None:
    """The R channel, and what the clients get."""
    harness, dut, axi = reads.harness, reads.dut, reads.dut.axi
    gets = Cat(client.beat.valid for client in reads.clients)
    harness.must("never_refuses_data", axi.rready)
    harness.must("each_beat_goes_to_one", gets.any() == reads.comes)
    harness.must("and_to_one_only", (gets & (gets - 1)) == 0)
    for index, client in enumerate(reads.clients):
        name = READ_PRIORITY[index]
        mine = reads.what.client == index
        harness.must(f"{name}_gets_its_own", implies(reads.arrives, client.beat.valid == mine))
        harness.must(f"{name}_gets_it_whole", client.beat.payload == axi.rdata)
    harness.must("fault_is_an_error_answer", dut.fault == (reads.comes & axi.rresp[1]))
    oldest = dut.fault_client == reads.what.client
    harness.must("names_the_oldest_client", implies(reads.read.is_next, oldest))
    harness.must("or_the_first", implies(reads.open == 0, dut.fault_client == 0))
    harness.must("idle_when_nothing_is_owed", dut.idle == (reads.open == 0))


def claim_fences(reads: Reads) -> None:
    """What a fence ends, in the next cycle; and what can happen after it."""
    harness, dut, axi = reads.harness, reads.dut, reads.dut.axi
    after = harness.delayed(dut.fence)
    gets = Cat(client.beat.valid for client in reads.clients)
    old = axi.rid != reads.fences.epoch
    harness.must("idle_after_a_fence", implies(after, dut.idle))
    harness.must("what_was_given_up_reaches_nobody", implies(old, ~gets.any() & ~dut.fault))
    held = axi.arvalid & (axi.arid != reads.fences.epoch)
    harness.reach("address_given_up_and_held", held & harness.delayed(after) & ~axi.arready)
    harness.reach("old_between_new", axi.rvalid & old & (reads.got != 0))
    harness.reach("new_behind_a_held_address", held & reads.granted)


def look_inside(reads: Reads) -> None:
    """What the master remembers."""
    harness, read = reads.harness, reads.read
    depth = 1 << clog2(reads.config.reads_in_flight)
    read_owners = harness.queue_at("dut.read_owners", depth, CLIENT_BITS)
    level = harness.peek("dut.read_owners.level", clog2(depth) + 1)
    client = read_owners(read.ahead)
    harness.invariant("turns_are_the_open", level == reads.open)
    harness.invariant("pending_are_open", reads.pending_open <= reads.open)
    newest = Mux(reads.pending_open == 0, 0, reads.pending)
    harness.invariant("open_or_given_up", reads.pending_open == newest)
    harness.invariant("is_among_the_open", implies(read.active, read.ahead < reads.open))
    harness.invariant("keeps_the_client", implies(read.active, client == reads.what.client))
    for place in range(depth):
        exists = read_owners(Const(place)) < len(READ_PRIORITY)
        harness.invariant(f"client_{place}_exists", implies(place < level, exists))
    harness.invariant("counts_beats", implies(read.is_next, reads.got < reads.what.burst.beats))
    harness.invariant("from_the_first", implies(~read.is_next, reads.got == 0))
    harness.invariant("of_some", implies(read.active, reads.what.burst.beats != 0))

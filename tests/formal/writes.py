"""A WriteMaster with any orders and beats, and a memory that keeps to the rules."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Signal
from amaranth.lib import data

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.layouts import clog2, order_layout, strobed_layout
from tandem.hw.storage import BEATS_BITS
from tandem.hw.timing import OUT_QUEUE_BEATS
from tests.formal.fences import Fences
from tests.formal.harness import Follower, Harness, implies

MOST_BEATS = 256
QUEUED_BITS = clog2(OUT_QUEUE_BEATS) + 2


class Writes:
    """A WriteMaster with any orders and beats, and a memory that takes and answers at any time.

    With `hasty`, memory does not wait for a burst's data to acknowledge it.

    Attributes
    ----------
    fences
        When orders are given up.
    accepted, writes
        An order is accepted in this cycle; one with a burst.
    issued, moved, sent
        AW is taken, a beat is, or the last beat of a burst, in this cycle.
    answered
        A burst of this epoch is acknowledged in this cycle.
    open
        Orders that are not done, nor given up.
    pending, unsent
        Bursts whose address was not taken; whose last beat was not.
    given_up, flushing
        Of the unsent, those that a fence gave up. They are being sent, or the clients were not
        reset yet.
    pending_open
        Bursts whose address was not taken, and that were not given up.
    unanswered
        Bursts that are not acknowledged, nor given up.
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
    queued, real
        Beats that wait; those of them that the client gave.
    beat, payload
        One of those; its data and strobes.
    """

    def __init__(self, master: Any, config: HardwareConfig, *, hasty: bool = False) -> None:
        self.harness = harness = Harness()
        self.config = config
        self.dut = dut = master(config)
        harness.module.submodules.dut = dut
        axi, self.client = dut.axi, dut.client
        client, order = self.client, dut.client.order.payload
        self.fences = fences = Fences(harness, dut)
        harness.comb(dut.restart.eq(fences.restart))
        harness.free(
            client.order.valid,
            client.order.payload,
            client.beat.valid,
            client.beat.payload,
        )
        harness.free(axi.awready, axi.wready, axi.bvalid, axi.bid, axi.bresp)
        beats = order.burst.beats
        some = (beats != 0) & (beats <= MOST_BEATS) & ~dut.halt
        harness.suppose(implies(client.order.valid & order.writes, some))

        self.accepted = client.order.valid & client.order.ready
        self.writes = self.accepted & order.writes
        self.issued = axi.awvalid & axi.awready
        self.moved = axi.wvalid & axi.wready
        self.sent = self.moved & axi.wlast
        self.answered = axi.bvalid & axi.bready & (axi.bid == fences.epoch)
        bits = clog2(config.writes_in_flight) + 2
        self.open = harness.counter(bits, self.accepted, client.done, clear=dut.fence)
        self.pending = harness.counter(bits, self.writes, self.issued)
        self.unsent = harness.counter(bits, self.writes, self.sent)
        self.unanswered = harness.counter(bits, self.writes, self.answered, clear=dut.fence)
        self._give_up(bits)
        # Without a fence, the clients are reset only when they have no order.
        harness.suppose(
            implies(fences.restart & ~self.flushing, (self.open == 0) & ~client.order.valid)
        )
        # Memory acknowledges a burst once it has its address and all its data (A3.3.1); with an ID
        # of before, at any time.
        data_is_there = self.unanswered > self.unsent - self.given_up
        whole = (self.unanswered > self.pending_open) & (data_is_there | hasty)
        harness.suppose(implies(axi.bvalid & (axi.bid == fences.epoch), whole))
        self._follow_order(bits)
        self._follow_burst(bits)
        self._queue()

    def _give_up(self, bits: int) -> None:
        """Count what a fence gives up."""
        dut, m = self.dut, self.harness.module
        self.given_up = Signal(bits)
        self.flushing = Signal()
        self.pending_open = Signal(bits)
        issued_open = self.issued & (self.pending_open != 0)
        m.d.sync += self.pending_open.eq(self.pending_open + self.writes - issued_open)
        with m.If(dut.fence):
            m.d.sync += [
                self.given_up.eq(self.unsent + self.writes - self.sent),
                self.flushing.eq(1),
                self.pending_open.eq(0),
            ]
        with m.Elif(self.sent & (self.given_up != 0)):
            m.d.sync += self.given_up.eq(self.given_up - 1)
        with m.Elif((self.given_up == 0) & ~dut.halt):
            m.d.sync += self.flushing.eq(0)

    def _follow_order(self, bits: int) -> None:
        harness, client = self.harness, self.client
        self.order = Follower(
            harness,
            comes=self.accepted,
            leaves=client.done,
            waiting=self.open,
            word=client.order.payload,
            bits=bits,
            dropped=self.dut.fence,
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

    def _follow_burst(self, bits: int) -> None:
        """A fence does not end it."""
        self.burst = Follower(
            self.harness,
            comes=self.writes,
            leaves=self.sent,
            waiting=self.unsent,
            word=self.client.order.payload.burst.beats,
            bits=bits,
        )
        self.beats = self.burst.word
        self.got = Signal(BEATS_BITS)
        moves = self.burst.is_next & self.moved
        going_on = Mux(moves, self.got + 1, self.got)
        self.harness.sync(self.got.eq(Mux(self.sent, 0, going_on)))

    def _queue(self) -> None:
        """Count and follow the beats that wait.

        While bursts that were given up are sent, others fill the queue. What is left is dropped,
        and what is of no burst when the client is reset.
        """
        harness, dut, client = self.harness, self.dut, self.client
        given = client.beat.valid & ~self.flushing
        self.queued = Signal(QUEUED_BITS)
        filled = self.flushing & (self.queued != OUT_QUEUE_BEATS)
        dropped = Mux(self.flushing, (self.given_up == 0) & ~dut.halt, self.fences.restart)
        self.real = Signal(QUEUED_BITS)
        moved = self.moved & (self.real != 0)
        harness.sync(
            self.queued.eq(Mux(dropped, 0, self.queued + given + filled - self.moved)),
            self.real.eq(Mux(dropped, 0, self.real + given - moved)),
        )
        # The client has begun a beat when a fence comes.
        harness.suppose(
            implies(client.beat.valid, (client.waiting < OUT_QUEUE_BEATS) | self.fences.fenced)
        )
        self.beat = Follower(
            harness,
            comes=given,
            leaves=self.moved,
            waiting=self.queued,
            word=client.beat.payload,
            bits=QUEUED_BITS,
            dropped=dropped,
        )
        self.payload = data.View(strobed_layout(self.config), self.beat.word)

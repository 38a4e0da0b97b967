"""Bursts out, acknowledgements back, and what is done in which order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.rtl.layouts import burst_layout, order_layout, strobed_layout
from tandem.hw.rtl.write_master import WriteMaster
from tandem.hw.timing import OUT_QUEUE_BEATS
from tests.support.hw.rtl.rtl import Context, Source, cycle, cycles, has, seeds, simulate
from tests.support.hw.rtl.rtl_bus import AxiWriteMemory

MEMORY_BYTES = 1 << 13
TINY = load_config("tiny")

Beat = tuple[int, int]
"""Data and strobes."""


@dataclass(frozen=True)
class Order:
    """A burst (`beats` is empty where nothing is written), and perhaps an instruction's end."""

    address: int
    beats: tuple[Beat, ...]
    ends: bool
    push: bool
    index: int

    def word(self, config: HardwareConfig) -> int:
        burst = {"address": self.address, "beats": len(self.beats)}
        fields: dict[str, Any] = {
            "burst": burst_layout(config).const(burst),
            "writes": int(bool(self.beats)),
            "ends": int(self.ends),
            "push": int(self.push),
            "index": self.index,
        }
        return int(order_layout(config).const(fields).as_bits())

    def store(self, content: bytearray, bus: int) -> None:
        """What memory holds afterwards."""
        for place, (value, strobes) in enumerate(self.beats):
            for byte in range(bus):
                if strobes >> byte & 1:
                    content[self.address + place * bus + byte] = value >> 8 * byte & 0xFF


@dataclass
class Done:
    """What the master says is done, and when."""

    master: WriteMaster
    log: list[tuple[int, bool, bool, bool]] = field(default_factory=list)
    """Index, and whether it ends, pushes, failed."""
    times: list[int] = field(default_factory=list)
    now: int = 0

    def drive(self, ctx: Context) -> None:
        """Gives no input."""

    def sample(self, ctx: Context) -> None:
        """One cycle."""
        axi, master = self.master.axi, self.master.client
        ends, push, fault = (
            bool(ctx.get(port)) for port in (master.ends, master.push, master.fault)
        )
        if ctx.get(master.done):
            self.log.append((ctx.get(master.index), ends, push, fault))
            self.times.append(self.now)
        else:
            assert (ends, push, fault) == (False, False, False)
        assert ctx.get(axi.bready)
        assert ctx.get(master.moving) == (ctx.get(axi.wvalid) and ctx.get(axi.wready))
        self.now += 1


class BeatSource(Source):
    """Sends beats, as the store unit does, while fewer than `OUT_QUEUE_BEATS` wait."""

    def __init__(
        self, master: WriteMaster, beats: list[int], rng: random.Random, chance: float = 1.0
    ) -> None:
        super().__init__(master.client.beat, beats, rng, chance)
        self._waiting = master.client.waiting

    def drive(self, ctx: Context) -> None:
        """Offer a beat where there is space."""
        if ctx.get(self._waiting) < OUT_QUEUE_BEATS:
            super().drive(ctx)
        else:
            ctx.set(self._stream.valid, 0)

    def sample(self, ctx: Context) -> None:
        """An offer is taken at once."""
        if ctx.get(self._stream.valid):
            super().sample(ctx)
        else:
            self.now += 1


def random_orders(rng: random.Random, config: HardwareConfig, count: int) -> list[Order]:
    """Bursts within a page, and a third of orders without any."""
    bus = config.bus_bytes
    orders = []
    for number in range(count):
        beats: list[Beat] = []
        if rng.random() < 0.67:
            for _ in range(rng.choice((1, 1, 2, 5))):
                strobes = rng.choice(((1 << bus) - 1, rng.getrandbits(bus)))
                beats.append((rng.getrandbits(8 * bus), strobes))
        ends = not beats or rng.random() < 0.5
        address = 4096 * rng.randrange(2) + bus * rng.randrange(4096 // bus - 5)
        orders.append(Order(address, tuple(beats), ends, rng.random() < 0.5, number))
    return orders


def done_times(orders: list[Order], taken: list[int], answered: list[int]) -> list[int]:
    """When orders are done, by rule 8: one a cycle, in order, a burst not before the cycle after
    its response, another not before the cycle after it was taken."""
    responses = iter(answered)
    times: list[int] = []
    for order, accepted in zip(orders, taken, strict=True):
        first = (next(responses) if order.beats else accepted) + 1
        times.append(max([first, *(time + 1 for time in times[-1:])]))
    return times


def run_orders(
    config: HardwareConfig,
    orders: list[Order],
    rng: random.Random,
    *,
    offers: float = 1.0,
    limit: int = 2000,
    **memory_options: Any,
) -> tuple[AxiWriteMemory, Done]:
    """Give every order; compare memory, and what is done, in order."""
    master = WriteMaster(config)
    seen = []

    async def bench(ctx: Context) -> None:
        memory = AxiWriteMemory(config, master.axi, bytearray(MEMORY_BYTES), rng, **memory_options)
        source = Source(master.client.order, [order.word(config) for order in orders], rng, offers)
        strobed = strobed_layout(config)
        beats = [
            int(strobed.const({"data": value, "strobe": strobes}).as_bits())
            for order in orders
            for value, strobes in order.beats
        ]
        data = BeatSource(master, beats, rng, offers)
        done = Done(master)
        await cycles(ctx, memory, source, data, done, until=has(done.log, len(orders)), limit=limit)
        assert ctx.get(master.client.idle)
        wanted = bytearray(MEMORY_BYTES)
        for order in orders:
            order.store(wanted, config.bus_bytes)
        if "refused" not in memory_options:
            assert memory.content == wanted
        assert [entry[:3] for entry in done.log] == [
            (order.index, order.ends, order.ends and order.push) for order in orders
        ]
        assert memory.bursts == [(each.address, len(each.beats)) for each in orders if each.beats]
        assert done.times == done_times(orders, source.times, memory.answered)
        seen.append((memory, done))

    simulate(master, bench)
    return seen[0]


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("bus_bits", [64, 512])
def test_random_orders(bus_bits: int, seed: int) -> None:
    rng = random.Random(seed)
    # Of the last, the queues are block RAM.
    config = TINY.replace(bus_bits=bus_bits, writes_in_flight=rng.choice((2, 3, 8, 65)))
    chances = tuple(rng.choice((0.2, 0.6, 1.0)) for _ in range(3))
    run_orders(
        config,
        random_orders(rng, config, 40),
        rng,
        offers=rng.choice((0.5, 1.0)),
        chances=chances,
        latency=range(1, 12),
        limit=6000,
    )


@pytest.mark.parametrize("seed", seeds(3))
def test_no_acknowledgement_is_lost_behind_an_order_without_data(seed: int) -> None:
    """Acknowledgements in consecutive cycles, with orders between them that wait for none."""
    rng = random.Random(seed)
    orders = []
    for number in range(24):
        beats = ((number, 0xFF),) if number % 2 == 0 else ()
        orders.append(Order(8 * number, beats, True, True, number))
    # A late acknowledgement delays the ones behind it: then they come one a cycle.
    run_orders(TINY.replace(writes_in_flight=16), orders, rng, latency=range(1, 30))


@pytest.mark.parametrize("seed", seeds(2))
def test_data_does_not_wait_for_its_address_to_be_taken(seed: int) -> None:
    """AMBA AXI4, A3.3.1: a subordinate may wait for WVALID before it takes an address."""
    rng = random.Random(seed)
    run_orders(TINY, random_orders(rng, TINY, 20), rng, shy=True, chances=(0.7, 0.7, 0.7))


def test_addresses_and_data_flow_without_a_pause() -> None:
    beats = tuple((number, 0xFF) for number in range(4))
    orders = [Order(32 * number, beats, True, False, number) for number in range(10)]
    config = TINY.replace(writes_in_flight=32)
    memory, done = run_orders(config, orders, random.Random(0), latency=range(50, 51))
    assert memory.beat_times == list(range(memory.beat_times[0], memory.beat_times[0] + 40))
    # Taken in cycle 0; the address goes out in 1, its data from 2 on.
    assert memory.beat_times[0] == 2
    # Acknowledged after the latency, done in the cycle after.
    assert done.times[0] == memory.beat_times[3] + 50 + 1


def test_an_order_without_data_is_done_at_once_when_nothing_is_open() -> None:
    _, done = run_orders(TINY, [Order(0, (), True, True, 9)], random.Random(0))
    assert done.times == [1]


def test_no_more_orders_than_allowed_are_open() -> None:
    config = TINY.replace(writes_in_flight=3)
    master = WriteMaster(config)
    orders = [Order(8 * number, ((1, 1),), True, False, number) for number in range(9)]

    async def bench(ctx: Context) -> None:
        rng = random.Random(0)
        memory = AxiWriteMemory(config, master.axi, bytearray(256), rng, latency=range(40, 41))
        source = Source(master.client.order, [order.word(config) for order in orders], rng)
        beat = int(strobed_layout(config).const({"data": 1, "strobe": 1}).as_bits())
        data = BeatSource(master, [beat] * 9, rng)
        await cycle(ctx, memory, source, data, count=30)
        assert len(source.times) == 3
        assert not ctx.get(master.client.idle)
        await cycles(ctx, memory, source, data, until=has(memory.answered, 9))

    simulate(master, bench)


def test_a_refused_write_is_told_with_its_order() -> None:
    """Also where the responses wait behind orders without a burst."""
    config = TINY.replace(writes_in_flight=32)
    orders = [Order(64 * number, ((1, 1),), True, True, number) for number in range(8)]
    orders[3:3] = [Order(0, (), True, True, 90 + number) for number in range(5)]
    refused = frozenset({64 * 2, 64 * 4, 64 * 6})
    for latency in (range(4, 5), range(20, 21)):
        _, done = run_orders(config, orders, random.Random(0), refused=refused, latency=latency)
        assert [index for index, *_, fault in done.log if fault] == [2, 4, 6]

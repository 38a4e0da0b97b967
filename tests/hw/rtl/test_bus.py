"""Both masters behind one port: silence, fences and IDs. Whole programs are in `tests/cosim`."""

from __future__ import annotations

import pytest

from tandem.hw.axi import ID_BITS
from tandem.hw.config_files import load_config
from tandem.hw.rtl.bus import Bus
from tests.support.hw.rtl.rtl import Context, simulate

TINY = load_config("tiny")
FETCH, LOAD = 0, 2


async def ask(ctx: Context, bus: Bus, name: str, address: int, beats: int) -> None:
    """A client's burst, granted in this cycle."""
    request = getattr(bus.core, name).request
    ctx.set(request.payload, {"address": address, "beats": beats})
    ctx.set(request.valid, 1)
    assert ctx.get(request.ready)
    await ctx.tick()
    ctx.set(request.valid, 0)


async def ask_to_write(ctx: Context, bus: Bus, address: int) -> None:
    """The store unit's order of one beat, taken in this cycle."""
    port = bus.core.writes.order
    burst = {"address": address, "beats": 1}
    ctx.set(port.payload, {"burst": burst, "writes": 1, "ends": 1, "index": 7})
    ctx.set(port.valid, 1)
    assert ctx.get(port.ready)
    await ctx.tick()
    ctx.set(port.valid, 0)


async def answer(ctx: Context, bus: Bus, identity: int, *, last: bool = True) -> list[bool]:
    """A beat with an ID; returns which clients get it."""
    ctx.set(bus.axi.rvalid, 1)
    ctx.set(bus.axi.rid, identity)
    ctx.set(bus.axi.rlast, last)
    clients = (bus.core.fetch, bus.core.compute, bus.core.load)
    found = [bool(ctx.get(client.beat.valid)) for client in clients]
    await ctx.tick()
    ctx.set(bus.axi.rvalid, 0)
    return found


async def fence(ctx: Context, bus: Bus) -> None:
    """Give everything up, as control does, and reset the core."""
    ctx.set(bus.core.halt, 1)
    ctx.set(bus.fence, 1)
    await ctx.tick()
    ctx.set(bus.fence, 0)
    assert ctx.get(bus.core.idle)
    ctx.set(bus.restart, 1)
    await ctx.tick()
    ctx.set(bus.restart, 0)
    ctx.set(bus.core.halt, 0)


def test_late_answers_are_for_nobody() -> None:
    bus = Bus(TINY)

    async def bench(ctx: Context) -> None:
        ctx.set(bus.axi.arready, 1)
        await ask(ctx, bus, "load", 64, 1)
        assert ctx.get(bus.axi.arid) == 0
        await ctx.tick()
        await fence(ctx, bus)
        await ask(ctx, bus, "fetch", 128, 1)
        assert (ctx.get(bus.axi.araddr), ctx.get(bus.axi.arid)) == (128, 1)
        await ctx.tick()
        assert await answer(ctx, bus, 0) == [False, False, False]
        assert not ctx.get(bus.core.idle)
        assert await answer(ctx, bus, 1) == [True, False, False]
        assert ctx.get(bus.core.idle)

    simulate(bus, bench)


def test_an_address_that_nobody_takes_stays() -> None:
    """With its ID; the next one comes behind it."""
    bus = Bus(TINY)

    async def bench(ctx: Context) -> None:
        await ask(ctx, bus, "load", 64, 3)
        await fence(ctx, bus)
        request = bus.core.fetch.request
        ctx.set(request.payload, {"address": 128, "beats": 1})
        ctx.set(request.valid, 1)
        for _ in range(3):
            assert ctx.get(bus.axi.arvalid)
            found = [ctx.get(port) for port in (bus.axi.araddr, bus.axi.arlen, bus.axi.arid)]
            assert found == [64, 2, 0]
            assert not ctx.get(request.ready)
            await ctx.tick()
        ctx.set(bus.axi.arready, 1)
        await ctx.tick()
        ctx.set(request.valid, 0)
        assert (ctx.get(bus.axi.araddr), ctx.get(bus.axi.arid)) == (128, 1)

    simulate(bus, bench)


@pytest.mark.parametrize("queued", [0, 1, 2])
def test_a_burst_that_was_given_up_gets_all_its_data(queued: int) -> None:
    """What waited, then beats without strobes; only then the next burst and its own."""
    bus = Bus(TINY)
    strobes = (1 << TINY.bus_bytes) - 1
    sent: list[tuple[int, int, int]] = []

    async def bench(ctx: Context) -> None:
        writes, axi = bus.core.writes, bus.axi

        async def step() -> None:
            if ctx.get(axi.wvalid) and ctx.get(axi.wready):
                sent.append(tuple(ctx.get(port) for port in (axi.wdata, axi.wstrb, axi.wlast)))
            await ctx.tick()

        async def order(address: int, beats: int) -> None:
            burst = {"address": address, "beats": beats}
            ctx.set(writes.order.payload, {"burst": burst, "writes": 1, "ends": 1, "index": 7})
            ctx.set(writes.order.valid, 1)
            assert ctx.get(writes.order.ready)
            await step()
            ctx.set(writes.order.valid, 0)

        async def beat(value: int) -> None:
            ctx.set(writes.beat.payload, {"data": value, "strobe": strobes})
            ctx.set(writes.beat.valid, 1)
            await step()
            ctx.set(writes.beat.valid, 0)

        ctx.set(axi.awready, 1)
        await order(64, 4)
        for value in range(queued):
            await beat(value + 1)
        await fence(ctx, bus)
        assert not ctx.get(writes.order.ready)
        ctx.set(axi.wready, 1)
        for _ in range(12):
            await step()
        await order(128, 1)
        assert ctx.get(axi.awid) == 1
        assert ctx.get(writes.waiting) == 0
        await beat(99)
        for _ in range(4):
            await step()
        # The acknowledgement of the first is nobody's.
        for identity, idle in ((0, False), (1, True)):
            ctx.set(axi.bvalid, 1)
            ctx.set(axi.bid, identity)
            await ctx.tick()
            ctx.set(axi.bvalid, 0)
            await ctx.tick()
            await ctx.tick()
            assert bool(ctx.get(bus.core.idle)) == idle

    simulate(bus, bench)
    assert [(value, strobe) for value, strobe, _ in sent[:queued]] == [
        (value + 1, strobes) for value in range(queued)
    ]
    assert [strobe for _, strobe, _ in sent[queued:4]] == [0] * (4 - queued)
    assert [last for *_, last in sent] == [0, 0, 0, 1, 1]
    assert sent[4][:2] == (99, strobes)


def test_silence_tells_the_oldest_burst() -> None:
    bus = Bus(TINY)
    limit = 9

    async def bench(ctx: Context) -> None:
        ctx.set(bus.limit, limit)
        ctx.set(bus.axi.arready, 1)
        await ask(ctx, bus, "fetch", 64, 1)
        await ask(ctx, bus, "load", 256, 2)
        await ctx.tick()
        assert await answer(ctx, bus, 0) == [True, False, False]
        for _ in range(limit + 1):
            assert not ctx.get(bus.core.expired)
            await ctx.tick()
        assert ctx.get(bus.core.expired)
        assert not ctx.get(bus.core.of_write)
        assert (ctx.get(bus.core.read_client), ctx.get(bus.address)) == (LOAD, 256)

    simulate(bus, bench)


@pytest.mark.parametrize("channel", ["ar", "aw"])
def test_silence_tells_an_address_that_nobody_takes(channel: str) -> None:
    """At first the burst that is older, and after a fence, which gives that one up, the address."""
    bus = Bus(TINY)
    limit = 9

    async def bench(ctx: Context) -> None:
        ctx.set(bus.limit, limit)
        ctx.set(bus.axi.arready, 1)
        await ask(ctx, bus, "fetch", 64, 1)
        await ctx.tick()
        if channel == "ar":
            ctx.set(bus.axi.arready, 0)
            await ask(ctx, bus, "load", 256, 2)
        else:
            await ask_to_write(ctx, bus, 256)
        while not ctx.get(bus.core.expired):
            await ctx.tick()
        ctx.set(bus.keep, 1)
        await ctx.tick()
        await fence(ctx, bus)
        assert ctx.get(bus.address) == 64
        ctx.set(bus.keep, 0)
        for _ in range(limit):
            await ctx.tick()
            assert ctx.get(bus.core.expired)
        assert (ctx.get(bus.address), ctx.get(bus.core.of_write)) == (256, 0)
        ctx.set(bus.keep, 1)
        ctx.set(getattr(bus.axi, f"{channel}ready"), 1)
        await ctx.tick()
        ctx.set(bus.axi.arready, 1)
        await ask(ctx, bus, "fetch", 128, 1)
        for _ in range(3):
            await ctx.tick()
        assert (ctx.get(bus.address), ctx.get(bus.core.expired)) == (256, 0)

    simulate(bus, bench)


def test_the_address_stays_while_it_is_kept() -> None:
    """Also when the burst is answered in the very cycle in which silence is told."""
    bus = Bus(TINY)
    limit = 9

    async def bench(ctx: Context) -> None:
        ctx.set(bus.limit, limit)
        ctx.set(bus.axi.arready, 1)
        await ask(ctx, bus, "fetch", 64, 1)
        await ask(ctx, bus, "load", 256, 1)
        while not ctx.get(bus.core.expired):
            await ctx.tick()
        assert ctx.get(bus.address) == 64
        await answer(ctx, bus, 0)
        ctx.set(bus.keep, 1)
        for address in (512, 576):
            await answer(ctx, bus, 0)
            assert not ctx.get(bus.core.expired)
            await ask(ctx, bus, "load", address, 1)
            assert ctx.get(bus.address) == 64
        ctx.set(bus.keep, 0)
        for _ in range(3):
            await ctx.tick()
        assert ctx.get(bus.address) == 576

    simulate(bus, bench)


def test_there_is_a_fence_for_each_id() -> None:
    bus = Bus(TINY)

    async def bench(ctx: Context) -> None:
        for number in range(1 << ID_BITS):
            assert not ctx.get(bus.closed)
            await ask(ctx, bus, "load", 64 * number, 1)
            assert ctx.get(bus.axi.arid) == number
            ctx.set(bus.axi.arready, 1)
            await ctx.tick()
            ctx.set(bus.axi.arready, 0)
            await fence(ctx, bus)
        assert ctx.get(bus.closed)

    simulate(bus, bench)


def test_what_was_given_up_has_an_address_and_no_order() -> None:
    """A launch behind an AW that memory never takes."""
    bus = Bus(TINY)
    limit = 9

    async def bench(ctx: Context) -> None:
        ctx.set(bus.limit, limit)
        await ask_to_write(ctx, bus, 192)
        await fence(ctx, bus)
        for _ in range(limit + 2):
            await ctx.tick()
        assert ctx.get(bus.core.idle)
        assert ctx.get(bus.core.expired)
        assert not ctx.get(bus.core.of_write)
        assert (ctx.get(bus.core.read_client), ctx.get(bus.address)) == (FETCH, 192)

    simulate(bus, bench)


def test_an_order_without_a_burst_behind_what_was_given_up() -> None:
    """The address that memory never takes is still the one that is told."""
    bus = Bus(TINY)
    limit = 9

    async def bench(ctx: Context) -> None:
        writes = bus.core.writes
        ctx.set(bus.limit, limit)
        ctx.set(bus.axi.wready, 1)
        burst = {"address": 192, "beats": 1}
        ctx.set(writes.order.payload, {"burst": burst, "writes": 1, "ends": 1, "index": 7})
        ctx.set(writes.order.valid, 1)
        await ctx.tick()
        ctx.set(writes.order.valid, 0)
        await fence(ctx, bus)
        ctx.set(writes.order.payload, {"burst": {"address": 256}, "writes": 0, "ends": 1})
        ctx.set(writes.order.valid, 1)
        done = 0
        for _ in range(9):
            await ctx.tick()
            done += ctx.get(writes.done)
        ctx.set(writes.order.valid, 0)
        assert done > 4
        assert not ctx.get(bus.core.expired)
        for _ in range(limit + 3):
            await ctx.tick()
        assert ctx.get(bus.core.expired)
        assert ctx.get(bus.address) == 192

    simulate(bus, bench)

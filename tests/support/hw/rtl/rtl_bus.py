"""Bus models for RTL tests: memories and a processor, which check the rules of AXI4.

The models check the same rules as `sim/rtl/bus.hpp` and `sim.rtl.bus`, but are independent: for
single blocks, with random latency and pauses instead of the memory model.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from amaranth.hdl import Value

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.rtl.layouts import burst_layout
from tests.support.hw.rtl.rtl import Context

OKAY = 0b00
SLVERR = 0b10
INCR = 0b01
TIMEOUT_CYCLES = 1000


class _Answers:
    """Read bursts in flight: answered in order, after a latency, with random pauses."""

    def __init__(
        self,
        content: bytes | bytearray,
        bus_bytes: int,
        rng: random.Random,
        latency: range,
        pause: float,
    ) -> None:
        self._content = content
        self._bus_bytes = bus_bytes
        self._rng = rng
        self._latency = latency
        self._pause = pause
        self._owed: deque[tuple[int, int, bool]] = deque()

    def owe(self, address: int, beats: int, now: int) -> None:
        """Queue the beats of a burst accepted in cycle `now`."""
        ready = now + self._rng.choice(self._latency)
        for beat in range(beats):
            self._owed.append((ready, address + beat * self._bus_bytes, beat == beats - 1))

    def next(self, now: int) -> tuple[int, int, bool] | None:
        """This cycle's beat, if any: address, data, and whether it is the last of a burst."""
        if not self._owed or self._owed[0][0] > now or self._rng.random() < self._pause:
            return None
        _, address, last = self._owed.popleft()
        data = self._content[address : address + self._bus_bytes]
        assert len(data) == self._bus_bytes, f"a read beyond memory, at {address:#x}"
        return address, int.from_bytes(data, "little"), last


class PortMemory:
    """Memory behind a `ReadPort`. Records each burst that it grants and each beat's arrival."""

    def __init__(
        self,
        config: HardwareConfig,
        port: Any,
        content: bytes | bytearray,
        rng: random.Random,
        *,
        chance: float = 1.0,
        latency: range = range(3, 4),
        pause: float = 0.0,
    ) -> None:
        self._port = port
        self._request = Value.cast(port.request.payload)
        self._burst = burst_layout(config)
        self._answers = _Answers(content, config.bus_bytes, rng, latency, pause)
        self._rng = rng
        self._chance = chance
        self._ready = False
        self.now = 0
        self.bursts: list[tuple[int, int]] = []
        self.times: list[int] = []
        self.arrivals: list[int] = []

    def drive(self, ctx: Context) -> None:
        """Drive a beat if one is due, and `ready` for a burst at random."""
        self._ready = self._rng.random() < self._chance
        ctx.set(self._port.request.ready, self._ready)
        answer = self._answers.next(self.now)
        ctx.set(self._port.beat.valid, answer is not None)
        if answer is not None:
            ctx.set(self._port.beat.payload, answer[1])
            self.arrivals.append(self.now)

    def sample(self, ctx: Context) -> None:
        """Record a granted burst."""
        if self._ready and ctx.get(self._port.request.valid):
            burst = self._burst.from_bits(ctx.get(self._request))
            self._answers.owe(burst.address, burst.beats, self.now)
            self.bursts.append((burst.address, burst.beats))
            self.times.append(self.now)
        self.now += 1


class _AddressChannel:
    """AR or AW as a subordinate sees it, and the rules that its master must keep."""

    def __init__(self, config: HardwareConfig, axi: Any, prefix: str) -> None:
        self._config = config
        names = ("addr", "len", "size", "burst", "cache", "prot", "id")
        self._ports = [getattr(axi, prefix + name) for name in names]
        self._valid = getattr(axi, prefix + "valid")
        self.ready = getattr(axi, prefix + "ready")
        self._refused: list[int] | None = None

    def taken(self, ctx: Context) -> tuple[int, int] | None:
        """The address and beats of the burst accepted in this cycle, if any."""
        if not ctx.get(self._valid):
            assert self._refused is None, "VALID fell before READY"
            return None
        now = [int(ctx.get(port)) for port in self._ports]
        assert self._refused in (None, now), "an address changed before READY"
        self._refused = None if ctx.get(self.ready) else now
        address, length, size, burst, cache, prot, _ = now
        width = self._config.bus_bytes
        assert (1 << size, burst) == (width, INCR)
        assert (cache, prot) == (self._config.axi_cache, self._config.axi_prot)
        assert address % width == 0
        last = address + (length + 1) * width - 1
        assert address // PAGE_BYTES == last // PAGE_BYTES, "a burst crosses 4 KiB"
        return (address, length + 1) if self._refused is None else None


class AxiReadMemory:
    """A read-only AXI4 subordinate (AR, R) that returns the current `content`.

    `refused` are addresses of beats to answer with an error.
    """

    def __init__(
        self,
        config: HardwareConfig,
        axi: Any,
        content: bytes | bytearray,
        rng: random.Random,
        *,
        chance: float = 1.0,
        latency: range = range(3, 4),
        pause: float = 0.0,
        refused: frozenset[int] = frozenset(),
    ) -> None:
        self._axi = axi
        self._channel = _AddressChannel(config, axi, "ar")
        self._answers = _Answers(content, config.bus_bytes, rng, latency, pause)
        self._rng = rng
        self._chance = chance
        self._refused = refused
        self.now = 0
        self.open = 0
        self.most_open = 0
        self.bursts: list[tuple[int, int]] = []

    def drive(self, ctx: Context) -> None:
        """Drive ARREADY at random, and a beat if one is due. Requires RREADY to be always high."""
        ctx.set(self._axi.arready, self._rng.random() < self._chance)
        answer = self._answers.next(self.now)
        ctx.set(self._axi.rvalid, answer is not None)
        if answer is not None:
            address, data, last = answer
            ctx.set(self._axi.rdata, data)
            ctx.set(self._axi.rlast, last)
            ctx.set(self._axi.rresp, SLVERR if address in self._refused else OKAY)
            self.open -= last

    def sample(self, ctx: Context) -> None:
        """Take an address."""
        assert ctx.get(self._axi.rready)
        burst = self._channel.taken(ctx)
        if burst is not None:
            self._answers.owe(*burst, self.now)
            self.bursts.append(burst)
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        self.now += 1


class AxiWriteMemory:
    """A write-only AXI4 subordinate (AW, W, B) that writes into `content`.

    `shy`: AWREADY waits for write data, as AXI4 allows (A3.3.1).
    `refused` are addresses of beats whose burst is answered with an error.
    """

    def __init__(
        self,
        config: HardwareConfig,
        axi: Any,
        content: bytearray,
        rng: random.Random,
        *,
        chances: tuple[float, float, float] = (1.0, 1.0, 1.0),
        latency: range = range(1, 2),
        shy: bool = False,
        refused: frozenset[int] = frozenset(),
    ) -> None:
        self._axi = axi
        self._bus_bytes = config.bus_bytes
        self._channel = _AddressChannel(config, axi, "aw")
        self.content = content
        self._rng = rng
        self._address_chance, self._data_chance, self._answer_chance = chances
        self._latency = latency
        self._shy = shy
        self._refused = refused
        self._beats: deque[tuple[int, int, bool]] = deque()
        self._answers: deque[tuple[int, int]] = deque()
        self._answering = False
        self._stuck: tuple[int, ...] | None = None
        self.now = 0
        self.bursts: list[tuple[int, int]] = []
        self._unfilled: deque[tuple[int, int]] = deque()
        self.answered: list[int] = []
        self.beat_times: list[int] = []

    def drive(self, ctx: Context) -> None:
        """Drive `ready` at random, and a due write response, stable until its handshake."""
        address_ready = self._rng.random() < self._address_chance
        if self._shy and not self._beats and not ctx.get(self._axi.wvalid):
            address_ready = False
        ctx.set(self._axi.awready, address_ready)
        ctx.set(self._axi.wready, self._rng.random() < self._data_chance)
        due = bool(self._answers) and self._answers[0][0] <= self.now
        if not self._answering and due and self._rng.random() < self._answer_chance:
            self._answering = True
            ctx.set(self._axi.bresp, self._answers[0][1])
        ctx.set(self._axi.bvalid, self._answering)

    def sample(self, ctx: Context) -> None:
        """Sample the handshakes of AW, W and B."""
        axi = self._axi
        if self._answering and ctx.get(axi.bready):
            self._answers.popleft()
            self._answering = False
            self.answered.append(self.now)
        burst = self._channel.taken(ctx)
        if burst is not None:
            self.bursts.append(burst)
            self._unfilled.append(burst)
        self._sample_data(ctx)
        self._fill()
        self.now += 1

    def _sample_data(self, ctx: Context) -> None:
        axi = self._axi
        if not ctx.get(axi.wvalid):
            assert self._stuck is None, "WVALID fell before WREADY"
            return
        beat = (int(ctx.get(axi.wdata)), int(ctx.get(axi.wstrb)), bool(ctx.get(axi.wlast)))
        assert self._stuck in (None, beat), "a beat changed before WREADY"
        self._stuck = None if ctx.get(axi.wready) else beat
        if self._stuck is None:
            self._beats.append(beat)
            self.beat_times.append(self.now)

    def _fill(self) -> None:
        """Write bursts with complete data into `content`."""
        while self._unfilled and len(self._beats) >= self._unfilled[0][1]:
            address, beats = self._unfilled.popleft()
            response = OKAY
            for number in range(beats):
                value, strobes, last = self._beats.popleft()
                assert last == (number == beats - 1), "WLAST is not on the last beat"
                at = address + number * self._bus_bytes
                assert at + self._bus_bytes <= len(self.content), f"a write beyond memory: {at:#x}"
                if at in self._refused:
                    response = SLVERR
                    continue
                for byte in range(self._bus_bytes):
                    if strobes >> byte & 1:
                        self.content[at + byte] = value >> 8 * byte & 0xFF
            self._answers.append((self.now + self._rng.choice(self._latency), response))


class AxiLiteDriver:
    """An AXI4-Lite manager; write address and data are sent in random order."""

    def __init__(self, bus: Any, rng: random.Random) -> None:
        self._bus = bus
        self._rng = rng

    async def write(self, ctx: Context, address: int, value: int, strobes: int = 0b1111) -> int:
        """Write a register and return the response."""
        bus = self._bus
        ctx.set(bus.awaddr, address)
        ctx.set(bus.wdata, value)
        ctx.set(bus.wstrb, strobes)
        channels = [
            (bus.awvalid, bus.awready, self._rng.randrange(4)),
            (bus.wvalid, bus.wready, self._rng.randrange(4)),
        ]
        for now in range(TIMEOUT_CYCLES):
            if not channels:
                break
            waiting: list[tuple[Any, Any, int]] = []
            taken: list[tuple[Any, Any, int]] = []
            for channel in channels:
                valid, ready, start = channel
                ctx.set(valid, start <= now)
                (taken if start <= now and ctx.get(ready) else waiting).append(channel)
            await ctx.tick()
            for valid, _, _ in taken:
                ctx.set(valid, 0)
            channels = waiting
        else:
            raise AssertionError("the bus takes no write")
        return await self._answer(ctx, bus.bvalid, bus.bready, bus.bresp)

    async def read(self, ctx: Context, address: int) -> tuple[int, int]:
        """Read a register: returns the response and the value."""
        bus = self._bus
        ctx.set(bus.araddr, address)
        ctx.set(bus.arvalid, 1)
        while not ctx.get(bus.arready):
            await ctx.tick()
        await ctx.tick()
        ctx.set(bus.arvalid, 0)
        while not ctx.get(bus.rvalid):
            await ctx.tick()
        value = int(ctx.get(bus.rdata))
        response = await self._answer(ctx, bus.rvalid, bus.rready, bus.rresp)
        return response, value

    async def _answer(self, ctx: Context, valid: Any, ready: Any, response: Any) -> int:
        """Accept a response after a random delay, in which it must be stable."""
        for _ in range(self._rng.randrange(3)):
            await ctx.tick()
        for _ in range(TIMEOUT_CYCLES):
            if ctx.get(valid):
                break
            await ctx.tick()
        else:
            raise AssertionError("the bus gives no answer")
        ctx.set(ready, 1)
        value = int(ctx.get(response))
        await ctx.tick()
        ctx.set(ready, 0)
        return value

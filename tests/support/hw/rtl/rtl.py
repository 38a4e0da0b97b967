"""Driving the RTL's components in Amaranth's simulator, cycle by cycle.

Agents drive a component's ports. In each cycle all agents first drive inputs and then, when signals
have settled, sample outputs: so there is at most one handshake per stream and cycle, and results do
not depend on the order of the agents.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from traceback import walk_tb
from typing import Any, Protocol

import pytest
from amaranth.hdl import Elaboratable, Fragment, Value
from amaranth.sim import Simulator

Context = Any
"""An `amaranth.sim.SimulatorContext`: Amaranth ships no types."""

Bench = Callable[[Context], Coroutine[Any, Any, None]]
CLOCK_PERIOD = 1e-6


class Agent(Protocol):
    """The testbench side of an interface."""

    def drive(self, ctx: Context) -> None:
        """Drive this cycle's inputs; may read outputs that depend on no input."""

    def sample(self, ctx: Context) -> None:
        """Sample this cycle's outputs."""


@lru_cache(maxsize=16)
def built(kind: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A block of these parameters, the same one again: most of a short test is elaboration."""
    return kind(*args, **options)


class _Stage:
    """A simulator of a block, reset before each run but the first."""

    def __init__(self, block: Any) -> None:
        self._simulator = Simulator(block)
        self._simulator.add_clock(CLOCK_PERIOD, if_exists=True)
        self._benches: tuple[Bench, ...] = ()
        self._places = 0

    def run(self, benches: tuple[Bench, ...]) -> None:
        if self._places:
            self._simulator.reset()
        self._benches = benches
        for place in range(self._places, len(benches)):
            self._simulator.add_testbench(self._bench_of(place), background=place > 0)
        self._places = max(self._places, len(benches))
        self._simulator.run()

    def _bench_of(self, place: int) -> Bench:
        async def bench(ctx: Context) -> None:
            if place < len(self._benches):
                await self._benches[place](ctx)

        return bench


@lru_cache(maxsize=16)
def _stage(block: Any) -> _Stage:
    return _Stage(block)


def simulate(block: Any, bench: Bench, *watchers: Bench) -> None:
    """Simulate `block` (clocked if synchronous) until `bench` ends, beside `watchers`.

    A block may be simulated again: it begins in its reset state.
    """
    try:
        _stage(block).run((bench, *watchers))
    except BaseException:
        # What a bench that was left in the middle waited for must not wake the next one.
        _stage.cache_clear()
        raise


def only_built(block: Any) -> Any:
    """The block, elaborated but not simulated: Amaranth warns of components that are never used."""
    Fragment.get(block, None)
    return block


@contextmanager
def refusal(match: str) -> Iterator[None]:
    """Expect a constructor to raise ValueError; marks the unfinished component as used."""
    with pytest.raises(ValueError, match=match) as caught:
        yield
    for frame, _ in walk_tb(caught.tb):
        unfinished = frame.f_locals.get("self")
        if isinstance(unfinished, Elaboratable):
            unfinished._MustUse__used = True


async def cycles(ctx: Context, *agents: Agent, until: Callable[[], bool], limit: int = 2000) -> int:
    """Run the agents until `until` holds after a cycle; returns the number of cycles."""
    for count in range(1, limit + 1):
        for agent in agents:
            agent.drive(ctx)
        for agent in agents:
            agent.sample(ctx)
        await ctx.tick()
        if until():
            return count
    raise AssertionError(f"still waiting after {limit} cycles")


async def cycle(ctx: Context, *agents: Agent, count: int = 1) -> None:
    """Run the agents for `count` cycles."""
    left = iter(range(count - 1, -1, -1))
    await cycles(ctx, *agents, until=lambda: next(left) == 0, limit=count)


def has(items: Sequence[object], count: int) -> Callable[[], bool]:
    """A condition for `until`: there are `count` items."""
    return lambda: len(items) >= count


async def pass_cycles(ctx: Context, count: int) -> None:
    """Run `count` cycles with unchanged inputs; ends in the middle of a cycle."""
    await ctx.delay((count + 0.25) * CLOCK_PERIOD)


def seeds(count: int) -> list[int]:
    """Seeds for a parametrised test: the test's name shows which one failed."""
    return [1009 * number + 7 for number in range(count)]


def random_bytes(rng: random.Random, count: int) -> bytes:
    """Random memory content."""
    return rng.randbytes(count)


def bits(layout: Any, **fields: int) -> int:
    """A struct's value as an integer."""
    return int(layout.const(fields).as_bits())


class Watch:
    """An agent that records the outputs of each cycle."""

    def __init__(self, look: Callable[[Context], None]) -> None:
        self._look = look

    def drive(self, ctx: Context) -> None:
        """Gives no input."""

    def sample(self, ctx: Context) -> None:
        """Record the outputs."""
        self._look(ctx)


class Source:
    """Sends `payloads`; offers the next one with probability `chance` a cycle.

    `times` are the cycles of the handshakes.
    """

    def __init__(
        self, stream: Any, payloads: Sequence[int], rng: random.Random, chance: float = 1.0
    ) -> None:
        self._stream = stream
        self._payload = Value.cast(stream.payload)
        self.left = deque(payloads)
        self._rng = rng
        self._chance = chance
        self._offering = False
        self.now = 0
        self.times: list[int] = []

    def drive(self, ctx: Context) -> None:
        """Offer a payload; an offered payload stays until its handshake."""
        if not self._offering and self.left and self._rng.random() < self._chance:
            self._offering = True
        ctx.set(self._stream.valid, self._offering)
        if self._offering:
            ctx.set(self._payload, self.left[0])

    def sample(self, ctx: Context) -> None:
        """Record a handshake."""
        if self._offering and ctx.get(self._stream.ready):
            self.left.popleft()
            self.times.append(self.now)
            self._offering = False
        self.now += 1


class Sink:
    """Receives payloads, ready with probability `chance` a cycle; asserts stable offers."""

    def __init__(self, stream: Any, rng: random.Random, chance: float = 1.0) -> None:
        self._stream = stream
        self._payload = Value.cast(stream.payload)
        self._rng = rng
        self.chance = chance
        self._ready = False
        self._refused: int | None = None
        self.now = 0
        self.received: list[int] = []
        self.times: list[int] = []

    def drive(self, ctx: Context) -> None:
        """Drive `ready` at random, whether or not a payload is offered."""
        self._ready = self._rng.random() < self.chance
        ctx.set(self._stream.ready, self._ready)

    def sample(self, ctx: Context) -> None:
        """Take the offered payload; assert that a payload not taken before is still offered."""
        if ctx.get(self._stream.valid):
            payload = int(ctx.get(self._payload))
            assert self._refused in (None, payload), "a payload changed while it was refused"
            self._refused = None if self._ready else payload
            if self._ready:
                self.received.append(payload)
                self.times.append(self.now)
        else:
            assert self._refused is None, "an offer was taken back"
        self.now += 1


class ElementMemory:
    """An on-chip memory's read port: returns `elements` (in DRAM's layout) a cycle after the
    request, and noise without a request.
    """

    def __init__(
        self,
        ports: tuple[Any, Any, Any],
        elements: Sequence[bytes],
        rng: random.Random,
    ) -> None:
        self._enable, self._address, self._data = ports
        self._elements = elements
        self._rng = rng
        self._shown: bytes | None = None

    def drive(self, ctx: Context) -> None:
        """Drive the data requested in the last cycle."""
        shown = self._shown or self._rng.randbytes(len(self._elements[0]))
        ctx.set(self._data, int.from_bytes(shown, "little"))

    def sample(self, ctx: Context) -> None:
        """Record the request."""
        self._shown = None
        if ctx.get(self._enable):
            self._shown = self._elements[ctx.get(self._address)]


class TokenSide:
    """The two token queues that a unit shares with one neighbour, from the neighbour's side.

    `give` is the probability per cycle of pushing one of the `left` remaining tokens.
    """

    def __init__(self, port: Any, rng: random.Random, left: int, give: float = 1.0) -> None:
        self._port = port
        self._rng = rng
        self.left = left
        self._give = give
        self._count = 0
        self.now = 0
        self.pops: list[int] = []
        self.pushes: list[int] = []

    def drive(self, ctx: Context) -> None:
        """Offer the tokens that were pushed in earlier cycles."""
        ctx.set(self._port.available, self._count > 0)

    def sample(self, ctx: Context) -> None:
        """Count pops and pushes."""
        if ctx.get(self._port.pop):
            assert self._count > 0, "a token was taken that is not there"
            self._count -= 1
            self.pops.append(self.now)
        if ctx.get(self._port.push):
            self.pushes.append(self.now)
        if self.left and self._rng.random() < self._give:
            self.left -= 1
            self._count += 1
        self.now += 1


class StatusLog:
    """A log of a unit's status by cycle; asserts that the unit is in one state at a time."""

    def __init__(self, status: Any) -> None:
        self._status = status
        self.states: list[str] = []
        self.starts: list[int] = []
        """Cycles in which instructions start."""
        self.ends: list[tuple[int, int]] = []
        """The index of each instruction that ends, and the cycle."""
        self.events: list[tuple[str, int]] = []
        """Pops and pushes by name, and the cycle."""

    @property
    def now(self) -> int:
        """Number of elapsed cycles."""
        return len(self.states)

    def drive(self, ctx: Context) -> None:
        """Gives no input."""

    def sample(self, ctx: Context) -> None:
        """Record the status of a cycle."""
        status = self._status
        on = [name for name in ("busy", "token", "memory") if ctx.get(getattr(status, name))]
        assert len(on) <= 1, f"{on} at once"
        events = status.events
        if ctx.get(events.start):
            self.starts.append(self.now)
            assert on == ["busy"]
        if ctx.get(events.end):
            self.ends.append((int(ctx.get(status.end_index)), self.now))
        for name in ("pop_prev", "pop_next", "push_prev", "push_next"):
            if ctx.get(events[name]):
                self.events.append((name, self.now))
        if ctx.get(status.quiet):
            assert on in ([], ["token"]), f"quiet, but {on}"
        self.states.append(on[0] if on else "idle")

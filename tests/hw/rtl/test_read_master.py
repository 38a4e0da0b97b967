"""Three clients share AR and R."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.rtl.layouts import burst_layout
from tandem.hw.rtl.read_master import ReadMaster
from tandem.hw.timing import READ_PRIORITY
from tests.support.hw.rtl.rtl import (
    Context,
    Source,
    Watch,
    bits,
    cycle,
    cycles,
    has,
    random_bytes,
    seeds,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import AxiReadMemory

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

MEMORY_BYTES = 1 << 13
TINY = load_config("tiny")

Burst = tuple[int, int]
"""Address and beats."""


@dataclass
class Client:
    """One client's wishes, and the beats that it got."""

    config: HardwareConfig
    port: Any
    wishes: list[Burst]
    rng: random.Random
    chance: float
    got: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        layout = burst_layout(self.config)
        words = [bits(layout, address=address, beats=beats) for address, beats in self.wishes]
        self.source = Source(self.port.request, words, self.rng, self.chance)

    def drive(self, ctx: Context) -> None:
        """Offer a burst."""
        self.source.drive(ctx)

    def sample(self, ctx: Context) -> None:
        """Receive."""
        self.source.sample(ctx)
        if ctx.get(self.port.beat.valid):
            self.got.append(int(ctx.get(self.port.beat.payload)))

    def wanted(self, content: bytes) -> list[int]:
        """The beats that it must get."""
        bus = self.config.bus_bytes
        return [
            int.from_bytes(content[at : at + bus], "little")
            for address, beats in self.wishes
            for at in range(address, address + beats * bus, bus)
        ]


def random_wishes(rng: random.Random, config: HardwareConfig, count: int) -> list[Burst]:
    """Bursts within a page, aligned to beats."""
    bus = config.bus_bytes
    wishes = []
    for _ in range(count):
        beats = rng.randint(1, 8)
        place = rng.randrange((4096 - beats * bus) // bus + 1) * bus
        wishes.append((4096 * rng.randrange(MEMORY_BYTES // 4096) + place, beats))
    return wishes


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("chance", [1.0, 0.4])
@pytest.mark.parametrize("bus_bits", [64, 256])
def test_each_client_gets_its_beats_in_order(bus_bits: int, chance: float, seed: int) -> None:
    rng = random.Random(seed)
    in_flight = rng.choice((2, 3, 5, 8))
    config = TINY.replace(bus_bits=bus_bits, reads_in_flight=in_flight)
    content = random_bytes(rng, MEMORY_BYTES)
    master = ReadMaster(config)

    async def bench(ctx: Context) -> None:
        memory = AxiReadMemory(
            config, master.axi, content, rng, chance=chance, latency=range(1, 20), pause=1 - chance
        )
        clients = [
            Client(config, getattr(master, name), random_wishes(rng, config, 12), rng, chance / 2)
            for name in READ_PRIORITY
        ]

        def all_there() -> bool:
            return all(len(client.got) == len(client.wanted(content)) for client in clients)

        await cycles(ctx, memory, *clients, until=all_there)
        for client in clients:
            assert client.got == client.wanted(content)
        assert ctx.get(master.idle)
        # One more than the limit would be one accepted too many.
        assert memory.most_open <= in_flight

    simulate(master, bench)


def test_priority_is_fixed_and_an_address_goes_out_each_cycle() -> None:
    rng = random.Random(5)
    config = TINY.replace(reads_in_flight=32)
    master = ReadMaster(config)

    async def bench(ctx: Context) -> None:
        memory = AxiReadMemory(config, master.axi, bytes(MEMORY_BYTES), rng, latency=range(9, 10))
        clients = [
            Client(
                config,
                getattr(master, name),
                [(64 * n + 1024 * place, 1) for n in range(5)],
                rng,
                1,
            )
            for place, name in enumerate(READ_PRIORITY)
        ]
        await cycles(ctx, memory, *clients, until=has(memory.bursts, 15))
        assert [client.source.times for client in clients] == [
            list(range(first, first + 5)) for first in (0, 5, 10)
        ]
        assert [address // 1024 for address, _ in memory.bursts] == [0] * 5 + [1] * 5 + [2] * 5

    simulate(master, bench)


def test_no_more_bursts_than_allowed_are_open() -> None:
    rng = random.Random(6)
    config = TINY.replace(reads_in_flight=3)
    master = ReadMaster(config)

    async def bench(ctx: Context) -> None:
        memory = AxiReadMemory(config, master.axi, bytes(MEMORY_BYTES), rng, latency=range(50, 51))
        client = Client(config, master.load, [(0, 1)] * 6, rng, 1)
        await cycle(ctx, memory, client, count=45)
        assert len(memory.bursts) == 3
        assert not ctx.get(master.idle)
        await cycles(ctx, memory, client, until=has(client.got, 6))
        assert memory.most_open == 3

    simulate(master, bench)


@pytest.mark.parametrize("seed", seeds(3))
def test_halt_takes_no_burst_and_answers_those_taken(seed: int) -> None:
    rng = random.Random(seed)
    master = ReadMaster(TINY)
    content = random_bytes(rng, MEMORY_BYTES)

    async def bench(ctx: Context) -> None:
        memory = AxiReadMemory(
            TINY, master.axi, content, rng, chance=0.5, latency=range(5, 9), pause=0.3
        )
        clients = [
            Client(TINY, getattr(master, name), random_wishes(rng, TINY, 20), rng, 0.5)
            for name in READ_PRIORITY
        ]
        await cycle(ctx, memory, *clients, count=rng.randint(5, 60))
        ctx.set(master.halt, 1)
        taken = [len(client.source.times) for client in clients]
        await cycles(ctx, memory, *clients, until=lambda: bool(ctx.get(master.idle)))
        await cycle(ctx, memory, *clients, count=20)
        assert [len(client.source.times) for client in clients] == taken
        assert len(memory.bursts) == sum(taken)
        for client, count in zip(clients, taken, strict=True):
            owed = sum(beats for _, beats in client.wishes[:count])
            assert client.got == client.wanted(content)[:owed]
        ctx.set(master.halt, 0)
        await cycles(
            ctx,
            memory,
            *clients,
            until=lambda: all(client.got == client.wanted(content) for client in clients),
        )

    simulate(master, bench)


@pytest.mark.parametrize("seed", seeds(3))
def test_a_refused_beat_is_told_with_its_client(seed: int) -> None:
    rng = random.Random(seed)
    master = ReadMaster(TINY)
    bus = TINY.bus_bytes

    async def bench(ctx: Context) -> None:
        wishes = [random_wishes(rng, TINY, 8) for _ in READ_PRIORITY]
        beats = sorted(
            {
                at
                for all_of in wishes
                for start, n in all_of
                for at in range(start, start + n * bus, bus)
            }
        )
        refused = frozenset(rng.sample(beats, 9))
        memory = AxiReadMemory(
            TINY, master.axi, bytes(MEMORY_BYTES), rng, latency=range(1, 9), refused=refused
        )
        clients = [
            Client(TINY, getattr(master, name), all_of, rng, 0.5)
            for name, all_of in zip(READ_PRIORITY, wishes, strict=True)
        ]
        found: list[int] = []

        def look(ctx: Context) -> None:
            if ctx.get(master.fault):
                found.append(ctx.get(master.fault_client))

        wanted: deque[int] = deque()
        for place, all_of in enumerate(wishes):
            for start, count in all_of:
                hits = sum(at in refused for at in range(start, start + count * bus, bus))
                wanted.extend([place] * hits)
        total = [sum(count for _, count in all_of) for all_of in wishes]
        await cycles(
            ctx,
            memory,
            *clients,
            Watch(look),
            until=lambda: [len(client.got) for client in clients] == total,
        )
        assert sorted(found) == sorted(wanted)

    simulate(master, bench)


@pytest.mark.parametrize(("cache", "prot"), [(0b1111, 0b101), (0, 0b010)])
def test_address_attributes_are_the_configuration_s(cache: int, prot: int) -> None:
    config = TINY.replace(axi_cache=cache, axi_prot=prot)
    master = ReadMaster(config)

    async def bench(ctx: Context) -> None:
        rng = random.Random(0)
        memory = AxiReadMemory(config, master.axi, bytes(64), rng)
        client = Client(config, master.fetch, [(8, 2)], rng, 1)
        # The memory compares them with its configuration.
        await cycles(ctx, memory, client, until=has(client.got, 2))

    simulate(master, bench)

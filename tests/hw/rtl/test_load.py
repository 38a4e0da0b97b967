"""The load unit: one LOAD after the other, its tokens and its states."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import BASE, Feature
from tandem.hw.isa import Coding, Load, MemoryId, Table, Tokens, encode
from tandem.hw.rtl.layouts import queued_layout
from tandem.hw.rtl.load import LoadUnit, load_memories
from tests.support.hw.rtl.rtl import (
    Context,
    Source,
    StatusLog,
    TokenSide,
    Watch,
    bits,
    cycle,
    cycles,
    has,
    random_bytes,
    seeds,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import PortMemory

TINY = load_config("tiny")
BASES = {memory: 0x400 * (memory + 1) for memory in MemoryId}
MEMORY_BYTES = 1 << 14
FIRST_INDEX = 1 << 20
PLAIN_WEIGHTS = frozenset(Feature) - {Feature.COMPRESSED_WEIGHTS}


def random_load(rng: random.Random, config: HardwareConfig) -> Load:
    """Small, some of them empty, with any tokens that the unit may have."""
    pads = [rng.choice((0, 0, 1, 3)) for _ in range(4)]
    x_size = rng.choice((0, 1, rng.randint(1, 6)))
    y_size = rng.randint(1, 2)
    while (pads[0] + y_size + pads[1]) * (pads[2] + x_size + pads[3]) > 16:
        pads[rng.randrange(4)] = 0
    return Load(
        memory=rng.choice([one for one in load_memories(config) if one is one.written]),
        sram_base=0,
        dram_base=rng.randrange(64),
        y_size=y_size,
        x_size=x_size,
        x_stride=rng.randrange(9),
        y_pad_0=pads[0],
        y_pad_1=pads[1],
        x_pad_0=pads[2],
        x_pad_1=pads[3],
        tokens=Tokens(pop_next=rng.random() < 0.4, push_next=rng.random() < 0.5),
    )


def elements_of(config: HardwareConfig, load: Load, content: bytes) -> Iterator[tuple[int, bytes]]:
    """What a LOAD writes: addresses on chip and elements."""
    size = config.element_bytes(load.memory)
    at = load.sram_base
    rows = range(load.y_pad_0, load.y_pad_0 + load.y_size)
    columns = range(load.x_pad_0, load.x_pad_0 + load.x_size)
    for y in range(rows.stop + load.y_pad_1) if load.x_size else ():
        for x in range(columns.stop + load.x_pad_1):
            element = bytes(size)
            if y in rows and x in columns:
                place = load.dram_base + (y - rows.start) * load.x_stride + x - columns.start
                start = BASES[load.memory] + place * size
                element = content[start : start + size]
            yield at, element
            at += 1


@dataclass
class Stand:
    """A load unit with its queue, tokens, memory and scratchpads."""

    config: HardwareConfig
    loads: list[Load | Table]
    rng: random.Random
    memory_options: dict[str, Any] = field(default_factory=dict)
    offers: float = 1.0

    def __post_init__(self) -> None:
        config, rng = self.config, self.rng
        self.unit = LoadUnit(config)
        self.content = random_bytes(rng, MEMORY_BYTES)
        words = [
            bits(
                queued_layout(),
                word=int.from_bytes(encode(config, load), "little"),
                index=FIRST_INDEX + place,
            )
            for place, load in enumerate(self.loads)
        ]
        self.tokens = TokenSide(
            self.unit.next, rng, sum(load.tokens.pop_next for load in self.loads), self.offers
        )
        self.memory = PortMemory(config, self.unit.port, self.content, rng, **self.memory_options)
        self.status = StatusLog(self.unit.status)
        self.written: dict[tuple[MemoryId, int], bytearray] = {}
        self.agents = (
            Source(self.unit.queue, words, rng, self.offers),
            self.tokens,
            self.memory,
            self.status,
            Watch(self._write),
        )

    def _write(self, ctx: Context) -> None:
        """What a scratchpad does with a write."""
        write = self.unit.write
        if not ctx.get(write.valid):
            return
        memory = load_memories(self.config)[ctx.get(write.select).bit_length() - 1]
        size = self.config.element_bytes(memory)
        bus = self.config.bus_bytes
        element = self.written.setdefault((memory, ctx.get(write.address)), bytearray(size))
        if ctx.get(write.pad):
            element[:] = bytes(size)
            return
        start = ctx.get(write.bank) * bus
        beat = int(ctx.get(write.data)).to_bytes(bus, "little")[: min(size, bus)]
        element[start : start + len(beat)] = beat

    async def begin(self, ctx: Context) -> None:
        for memory in self.config.memories:
            ctx.set(self.unit.bases[memory.base.name.lower()], BASES[memory.base])

    def compare(self) -> None:
        """On-chip contents, tokens and events after a run to the end."""
        wanted: dict[tuple[MemoryId, int], bytes] = {}
        for load in self.loads:
            assert isinstance(load, Load)
            for address, element in elements_of(self.config, load, self.content):
                wanted[load.memory, address] = element
        assert self.written == wanted
        indices = [FIRST_INDEX + place for place in range(len(self.loads))]
        assert len(self.status.starts) == len(indices)
        assert [index for index, _ in self.status.ends] == indices
        assert self.tokens.pops == [
            time
            for time, load in zip(self.status.starts, self.loads, strict=True)
            if load.tokens.pop_next
        ]
        assert self.tokens.pushes == [
            time
            for (_, time), load in zip(self.status.ends, self.loads, strict=True)
            if load.tokens.push_next
        ]


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", seeds(5))
@pytest.mark.parametrize("bus_bits", [64, 256])
@pytest.mark.parametrize("features", [BASE, PLAIN_WEIGHTS], ids=["base", "extended"])
def test_random_loads(features: frozenset[Feature], bus_bits: int, seed: int) -> None:
    rng = random.Random(seed)
    config = TINY.replace(bus_bits=bus_bits, features=features)
    options = {
        "latency": range(1, 1 + rng.choice((1, 20))),
        "pause": rng.choice((0.0, 0.4)),
        "chance": rng.choice((0.5, 1.0)),
    }
    loads = [random_load(rng, config) for _ in range(20)]
    stand = Stand(config, loads, rng, options, rng.choice((0.2, 1.0)))

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 20), limit=4000)
        await cycle(ctx, *stand.agents)
        assert ctx.get(stand.unit.status.quiet)
        assert not ctx.get(stand.unit.status.active)
        stand.compare()

    simulate(stand.unit, bench)


def load_of(columns: int, pad: int = 0, **tokens: bool) -> Load:
    return Load(
        memory=MemoryId.WGT,
        sram_base=0,
        dram_base=0,
        y_size=1,
        x_size=columns,
        x_stride=columns,
        x_pad_0=pad,
        tokens=Tokens(**tokens),
    )


def test_time_of_loads() -> None:
    """The next starts in the cycle after the last write; an empty one takes two cycles."""
    loads = [load_of(3, push_next=True), load_of(0, push_next=True), load_of(1)]
    stand = Stand(TINY, loads, random.Random(0), {"latency": range(5, 6)})

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 3))
        starts = stand.status.starts
        ends = [time for _, time in stand.status.ends]
        # 3 x 16 bytes are 6 beats: asked for in start + 2, there 5 later, written a cycle later.
        assert stand.memory.times[0] == starts[0] + 2
        assert stand.memory.arrivals[:6] == [starts[0] + 7 + beat for beat in range(6)]
        assert ends[0] == starts[0] + 13
        assert (starts[1], ends[1]) == (ends[0] + 1, ends[0] + 2)
        assert starts[2] == ends[1] + 1
        assert stand.tokens.pushes == ends[:2]

    simulate(stand.unit, bench)


def test_tables_between_loads() -> None:
    """A TABLE writes an entry in each of the eight cycles behind its start, and ends with the last;
    a LOAD of codes behind it begins in the next."""
    config = load_config("tiny-w")
    tokens = Tokens(push_next=True)
    table = Table(upper_half=True, entries_low=0x04030201, entries_high=0xFF7F8005, tokens=tokens)
    codes = replace(load_of(2), memory=MemoryId.WGT_CODES, coding=Coding.BITS_4)
    stand = Stand(config, [load_of(1), table, codes], random.Random(0))
    entries: list[tuple[int, int, int]] = []
    now = 0

    def look(ctx: Context) -> None:
        nonlocal now
        port = stand.unit.set_entry
        if ctx.get(port.valid):
            entries.append((now, ctx.get(port.index), ctx.get(port.entry)))
        now += 1

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, Watch(look), until=has(stand.status.ends, 3))
        starts = stand.status.starts
        ends = [time for _, time in stand.status.ends]
        assert starts[1:] == [ends[0] + 1, ends[1] + 1]
        assert ends[1] == starts[1] + 8
        assert stand.tokens.pushes == ends[1:2]
        given = [1, 2, 3, 4, 5, 0x80, 0x7F, 0xFF]
        times = range(starts[1] + 1, starts[1] + 9)
        assert entries == [*zip(times, range(8, 16), given, strict=True)]
        assert stand.status.states[starts[1] : starts[2]] == ["busy"] * 9

    simulate(stand.unit, bench)


def test_states() -> None:
    """Waiting for a token; busy; waiting for memory; busy; idle."""
    stand = Stand(
        TINY, [load_of(2, pad=3, pop_next=True)], random.Random(0), {"latency": range(20, 21)}
    )
    stand.tokens.left = 0

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, *stand.agents, count=4)
        status = stand.unit.status
        assert ctx.get(status.waits) == 0b10
        assert ctx.get(status.active)
        assert ctx.get(status.quiet)
        assert ctx.get(status.index) == FIRST_INDEX
        stand.tokens.left = 1
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 1))
        await cycle(ctx, *stand.agents, count=2)
        # Given in cycle 4, there in 5. Started in 5: three pads from 7 on, the first beat (asked
        # for in 7) comes in 27 and is written in 28, the fourth in 31.
        assert stand.status.starts[0] == 5
        states = ["token"] * 5 + ["busy"] * 5 + ["memory"] * 18 + ["busy"] * 4 + ["idle"] * 2
        assert stand.status.states == states

    simulate(stand.unit, bench)

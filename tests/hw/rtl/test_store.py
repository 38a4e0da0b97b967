"""The store unit: memory, tokens and time of STOREs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId, Store, Tokens, encode
from tandem.hw.rtl.layouts import queued_layout
from tests.support.hw.rtl.on_bus import StoreOnBus
from tests.support.hw.rtl.rtl import (
    Agent,
    Context,
    ElementMemory,
    Source,
    StatusLog,
    TokenSide,
    Watch,
    bits,
    cycle,
    cycles,
    has,
    seeds,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import AxiWriteMemory
from tests.support.sim.reference import ReferenceMachine

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
MEMORY_BYTES = 1 << 13
BASE = 0x800
FIRST_INDEX = 100
EMPTY = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=0, x_size=0, x_stride=0)


def random_store(rng: random.Random, config: HardwareConfig) -> Store:
    """Some of them empty, some across a page; with any tokens that a STORE may have."""
    size = config.element_bytes(MemoryId.OUT)
    x_size = rng.choice((0, 1, rng.randint(1, 9), rng.randint(1, 9)))
    y_size = rng.randint(1, 3)
    highest = config.depth(MemoryId.OUT) - x_size * y_size
    near_page = (4096 - BASE) // size - rng.randint(0, 6)
    return Store(
        memory=MemoryId.OUT,
        sram_base=rng.randrange(highest + 1),
        dram_base=rng.choice((near_page, rng.randrange(300))),
        y_size=y_size,
        x_size=x_size,
        x_stride=x_size + rng.randrange(4),
        tokens=Tokens(pop_prev=rng.random() < 0.4, push_prev=rng.random() < 0.5),
    )


@dataclass
class Stand:
    """A store unit with all that surrounds it."""

    config: HardwareConfig
    stores: list[Store]
    rng: random.Random
    memory_options: dict[str, Any] = field(default_factory=dict)
    offers: float = 1.0

    def __post_init__(self) -> None:
        config, rng = self.config, self.rng
        self.design = StoreOnBus(config)
        self.unit = unit = self.design.unit
        self.machine = ReferenceMachine(config, {MemoryId.OUT: BASE})
        values = np.random.default_rng(rng.randrange(1 << 30))
        self.machine.acc[:] = values.integers(-999, 999, self.machine.acc.shape, np.int32)
        words = [
            bits(
                queued_layout(),
                word=int.from_bytes(encode(config, store), "little"),
                index=FIRST_INDEX + place,
            )
            for place, store in enumerate(self.stores)
        ]
        elements = [element.astype(np.int8).tobytes() for element in self.machine.acc]
        ports = (unit.out_enable, unit.out_address, unit.out_data)
        tokens = sum(store.tokens.pop_prev for store in self.stores)
        self.source = Source(unit.queue, words, rng, self.offers)
        self.tokens = TokenSide(unit.prev, rng, tokens, self.offers)
        self.memory = AxiWriteMemory(
            config, self.design.axi, bytearray(MEMORY_BYTES), rng, **self.memory_options
        )
        self.status = StatusLog(unit.status)
        elements_memory = ElementMemory(ports, elements, rng)
        self.agents: tuple[Agent, ...] = (
            self.source,
            self.tokens,
            elements_memory,
            self.memory,
            self.status,
        )

    def expected(self) -> bytes:
        """Memory after all STOREs."""
        image = np.zeros(MEMORY_BYTES, np.uint8)
        for store in self.stores:
            self.machine.step(store, image)
        return image.tobytes()

    def compare(self) -> None:
        """Memory, tokens and events of a run to the end."""
        assert self.memory.content == self.expected()
        indices = [FIRST_INDEX + place for place in range(len(self.stores))]
        assert len(self.status.starts) == len(indices)
        assert [index for index, _ in self.status.ends] == indices
        pops = [
            time
            for time, store in zip(self.status.starts, self.stores, strict=True)
            if store.tokens.pop_prev
        ]
        pushes = [
            time
            for (_, time), store in zip(self.status.ends, self.stores, strict=True)
            if store.tokens.push_prev
        ]
        assert self.tokens.pops == pops
        assert self.tokens.pushes == pushes
        assert self.status.events == sorted(
            [("pop_prev", time) for time in pops] + [("push_prev", time) for time in pushes],
            key=lambda event: (event[1], event[0]),
        )


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize(("log_lanes", "bus_bits"), [(2, 64), (4, 64), (3, 256)])
def test_random_stores(log_lanes: int, bus_bits: int, seed: int) -> None:
    rng = random.Random(seed)
    config = TINY.replace(
        log_block_out=log_lanes,
        log_wgt_buffer=6 + log_lanes,
        log_acc_buffer=7 + log_lanes,
        bus_bits=bus_bits,
        writes_in_flight=rng.choice((2, 5, 16)),
    )
    eager = rng.random() < 0.3
    chances = (1.0, 1.0, 1.0) if eager else tuple(rng.choice((0.3, 0.8)) for _ in range(3))
    stand = Stand(
        config,
        [random_store(rng, config) for _ in range(16)],
        rng,
        {"chances": chances, "latency": range(1, 30)},
        rng.choice((0.2, 1.0)),
    )

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 16), limit=6000)
        await cycle(ctx, *stand.agents, count=3)
        assert ctx.get(stand.unit.writes.idle)
        assert ctx.get(stand.unit.status.quiet)
        assert not ctx.get(stand.unit.status.active)
        stand.compare()

    simulate(stand.design, bench)


def row(columns: int, **tokens: bool) -> Store:
    """Beats in a row, from a page's start on."""
    return Store(
        memory=MemoryId.OUT,
        sram_base=0,
        dram_base=(4096 - BASE) // 4,
        y_size=1,
        x_size=columns,
        x_stride=columns,
        tokens=Tokens(**tokens),
    )


def test_time_of_a_store() -> None:
    """Elements of half a beat: 24 of them, 12 beats, bursts of 8 and 4."""
    stand = Stand(TINY, [row(24, push_prev=True), row(2)], random.Random(0))

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 2))
        start, second = stand.status.starts
        # Read in start + 1, packed two by two, written from start + 4 on, a beat every second.
        assert stand.memory.beat_times[:12] == [start + 4 + 2 * n for n in range(12)]
        # Acknowledged a cycle after its last beat; it ends in the cycle after.
        assert stand.memory.answered[1] == stand.memory.beat_times[11] + 1
        assert stand.status.ends[0][1] == stand.memory.beat_times[11] + 2
        # The next one starts when the last of 24 elements has been read.
        assert second == start + 25
        stand.compare()

    simulate(stand.design, bench)


def test_a_store_does_not_wait_for_the_acknowledgement_of_the_one_before() -> None:
    stores = [row(2, push_prev=True) for _ in range(6)]
    options = {"latency": range(40, 41)}
    stand = Stand(TINY.replace(writes_in_flight=16), stores, random.Random(0), options)

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 6))
        assert stand.status.starts[-1] < 30
        stand.compare()

    simulate(stand.design, bench)


def test_states() -> None:
    """Idle; waiting for a token; busy; waiting for the acknowledgement."""
    stand = Stand(
        TINY,
        [row(2, pop_prev=True, push_prev=True)],
        random.Random(0),
        {"latency": range(10, 11)},
    )
    stand.tokens.left = 0

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycle(ctx, *stand.agents, count=5)
        assert stand.status.states == ["token"] * 5
        assert ctx.get(stand.unit.status.waits) == 0b01
        assert ctx.get(stand.unit.status.active)
        assert ctx.get(stand.unit.status.index) == FIRST_INDEX
        stand.tokens.left = 1
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 1))
        await cycle(ctx, *stand.agents, count=2)
        start, end = stand.status.starts[0], stand.status.ends[0][1]
        beat = stand.memory.beat_times[0]
        states = stand.status.states
        assert (states[start], states[beat]) == ("busy", "busy")
        assert states[beat + 1 : end + 1] == ["memory"] * (end - beat)
        assert states[end + 1 :] == ["idle"] * 2

    simulate(stand.design, bench)


@pytest.mark.parametrize("seed", seeds(4))
def test_halt_ends_what_was_begun(seed: int) -> None:
    """Every burst that memory has got is filled and acknowledged; no other begins."""
    rng = random.Random(seed)
    stores = [random_store(rng, TINY) for _ in range(10)]
    stand = Stand(TINY, stores, rng, {"chances": (0.5, 0.5, 0.5), "latency": range(1, 9)})

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycle(ctx, *stand.agents, count=rng.randint(10, 80))
        ctx.set(stand.unit.halt, 1)
        await cycle(ctx, *stand.agents)
        started = len(stand.status.starts)
        await cycles(ctx, *stand.agents, until=lambda: bool(ctx.get(stand.unit.writes.idle)))
        bursts = len(stand.memory.bursts)
        assert len(stand.memory.answered) == bursts
        await cycle(ctx, *stand.agents, count=30)
        assert (len(stand.memory.bursts), len(stand.status.starts)) == (bursts, started)
        # Halt lifted, everything else follows.
        ctx.set(stand.unit.halt, 0)
        await cycles(ctx, *stand.agents, until=has(stand.status.ends, 10))
        stand.compare()

    simulate(stand.design, bench)


def test_a_refused_write_is_told_with_its_instruction() -> None:
    stores = [row(4), EMPTY, row(20), row(2)]
    options = {"refused": frozenset({4096 + 8 * 8}), "latency": range(6, 7)}
    stand = Stand(TINY, stores, random.Random(0), options)
    found = []

    def look(ctx: Context) -> None:
        if ctx.get(stand.unit.writes.fault):
            found.append(ctx.get(stand.unit.writes.index))

    async def bench(ctx: Context) -> None:
        ctx.set(stand.unit.bases.out, BASE)
        await cycle(ctx, *stand.agents, Watch(look), count=120)
        assert len(stand.status.ends) == 4

    simulate(stand.design, bench)
    assert found == [FIRST_INDEX + 2]

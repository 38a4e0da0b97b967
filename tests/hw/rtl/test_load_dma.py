"""LOADs against the reference machine, and the time at which each element is written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Load, MemoryId, encode
from tandem.hw.rtl.accumulator import COMPUTE_MEMORIES
from tandem.hw.rtl.load import load_memories
from tandem.hw.rtl.load_dma import LoadDma
from tandem.hw.widening import widening_of
from tests.support.hw.configs import UNCOMMON
from tests.support.hw.rtl.rtl import (
    Context,
    Watch,
    built,
    cycle,
    cycles,
    only_built,
    random_bytes,
    seeds,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import PortMemory
from tests.support.sim.reference import ReferenceMachine

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

BASES = {memory: 0x400 * (memory + 1) for memory in MemoryId}
MEMORY_BYTES = 1 << 14
TINY = load_config("tiny")
LOAD_MEMORIES = load_memories(TINY)
REQUANTISE = frozenset({Feature.REQUANTISE})

STEP = 1 << 10
"""What a bank's number has in addition in the second step of a beat of codes."""

Write = tuple[int, int | None, int, int]
"""Element, bank (None: padding, the whole element), data, and the cycle."""


class Writes:
    """What the DMA writes, and that it writes in the cycle after each in which it does not starve.

    Attributes
    ----------
    seen
        Each write, and its memory.
    last
        The cycles in which the DMA says that its LOAD's last element comes next.
    """

    def __init__(self, dma: LoadDma, memories: tuple[MemoryId, ...]) -> None:
        self._dma = dma
        self._memories = memories
        self._was_active = False
        self._writes_next = False
        self.now = 0
        self.seen: list[tuple[MemoryId, Write]] = []
        self.last: list[int] = []

    def look(self, ctx: Context) -> None:
        """One cycle."""
        write = self._dma.write
        valid = bool(ctx.get(write.valid))
        assert valid == self._writes_next
        if valid:
            select = ctx.get(write.select)
            assert select.bit_count() == 1
            bank = None if ctx.get(write.pad) else int(ctx.get(write.bank))
            if bank is not None and MemoryId.WGT_CODES in self._memories:
                bank += STEP * int(ctx.get(write.step))
            found = (int(ctx.get(write.address)), bank, int(ctx.get(write.data)), self.now)
            self.seen.append((self._memories[select.bit_length() - 1], found))
        active, starved = bool(ctx.get(self._dma.active)), bool(ctx.get(self._dma.starved))
        # In the first cycle of a LOAD it is set up.
        running = active and self._was_active
        self._writes_next = running and not starved
        assert running or not starved
        self._was_active = active
        if ctx.get(self._dma.last):
            assert self._writes_next
            self.last.append(self.now)
        self.now += 1


def expected(
    config: HardwareConfig, load: Load, content: bytes, beats: Iterator[int], start: int
) -> list[Write]:
    """Every write of `load`, each as early as the timing rules have it.

    `beats` are the cycles in which the load's beats came; the first write is in cycle `start` or
    later, and data is written two cycles after it came.
    """
    bus, size = config.bus_bytes, config.element_bytes(load.memory, load.coding)
    scale_beats, steps = 0, 1
    if load.memory is MemoryId.WGT_CODES:
        scale_beats = widening_of(config).scale_beats if load.coding.scaled else 0
        steps = widening_of(config).steps(load.coding)
    width = load.x_pad_0 + load.x_size + load.x_pad_1
    writes: list[Write] = []
    now = start - 1
    for y in range(load.y_pad_0 + load.y_size + load.y_pad_1):
        beat = -1
        for x in range(width):
            element = load.sram_base + y * width + x
            row, column = y - load.y_pad_0, x - load.x_pad_0
            if not (0 <= row < load.y_size and 0 <= column < load.x_size):
                now += 1
                writes.append((element, None, 0, now))
                continue
            place = load.dram_base + row * load.x_stride
            at = BASES[load.memory.base] + config.dram_unit(load.memory) * place + size * column
            for part in range(max(1, size // bus)):
                place = (at + part * bus) // bus
                if place != beat:
                    beat, arrival = place, next(beats)
                now = max(now + 1, arrival + 2)
                first = at + part * bus
                piece = int.from_bytes(content[first : first + min(size, bus)], "little")
                bank = part - scale_beats
                if bank < 0:
                    bank += _banks(config)
                writes.append((element, bank, piece, now))
                for step in range(1, steps):
                    now += 1
                    writes.append((element, bank + STEP * step, piece, now))
    return writes


def _banks(config: HardwareConfig) -> int:
    """One more than the largest number of a bank that the port of the load unit can say."""
    most = max(config.element_bytes(memory) for memory in load_memories(config))
    return max(2, most // config.bus_bytes)


def run_loads(
    config: HardwareConfig,
    memories: tuple[MemoryId, ...],
    loads: list[Load],
    seed: int,
    chance: float,
) -> None:
    """Each LOAD after the other, compared write by write."""
    rng = random.Random(seed)
    content = random_bytes(rng, MEMORY_BYTES)
    depth = config.load_buffer
    dma = built(LoadDma, config, memories, depth=depth)

    async def bench(ctx: Context) -> None:
        for memory in config.memories:
            ctx.set(dma.bases[memory.base.name.lower()], BASES[memory.base])
        memory_side = PortMemory(
            config,
            dma.port,
            content,
            rng,
            chance=chance,
            latency=range(1, 2 + rng.randrange(12)),
            pause=(1 - chance) / 2,
        )
        writes = Writes(dma, memories)
        wanted: list[tuple[MemoryId, Write]] = []
        for load in loads:
            # The last element of the LOAD before is written in the cycle of this one's start.
            assert not ctx.get(dma.active)
            ctx.set(dma.start, 1)
            word = int.from_bytes(encode(config, load), "little")
            ctx.set(dma.word.as_value(), word)
            begin = writes.now
            before = len(memory_side.arrivals)
            await cycle(ctx, memory_side, Watch(writes.look))
            ctx.set(dma.start, 0)
            ctx.set(dma.word.as_value(), rng.getrandbits(128))
            await cycles(
                ctx, memory_side, Watch(writes.look), until=lambda: not ctx.get(dma.active)
            )
            arrivals = iter(memory_side.arrivals[before:])
            mine = expected(config, load, content, arrivals, begin + 3)
            assert next(arrivals, None) is None, "a beat too many"
            wanted += [(load.memory, write) for write in mine]
            found = [(memory, _narrowed(config, memory, each)) for memory, each in writes.seen]
            assert found == wanted[: len(found)], f"{load}, seed {seed}"
            assert len(found) == len(wanted) - 1, f"{load}, seed {seed}"
            assert writes.last[-1] == mine[-1][3] - 1 == writes.now - 1
        await cycle(ctx, memory_side, Watch(writes.look), count=5)
        found = [(memory, _narrowed(config, memory, each)) for memory, each in writes.seen]
        assert found == wanted
        assert len(writes.last) == len(loads)

    simulate(dma, bench)


def _narrowed(config: HardwareConfig, memory: MemoryId, write: Write) -> Write:
    """Only the bits that belong to the element; of padding, none."""
    element, bank, data, now = write
    if bank is None:
        return element, bank, 0, now
    size = min(config.element_bytes(memory), config.bus_bytes)
    if memory is MemoryId.WGT_CODES:
        size = config.bus_bytes
    return element, bank, data & ((1 << 8 * size) - 1), now


def random_load(rng: random.Random, config: HardwareConfig, memory: MemoryId) -> Load:
    """Small rectangles with pads; strides of 0, less than a row, a row, and more."""
    coding = Coding.BITS_1
    if memory is MemoryId.WGT_CODES:
        coding = rng.choice([*Coding])
    size = config.element_bytes(memory, coding)
    x_size = rng.randint(1, max(2, 3 * config.bus_bytes // size))
    x_size = min(x_size, 1024 // size + 1)
    stride = rng.choice((0, rng.randrange(x_size + 1), x_size, x_size + rng.randrange(6)))
    pads = [rng.choice((0, 0, rng.randrange(16))) for _ in range(4)]
    return Load(
        memory=memory,
        sram_base=rng.randrange(config.depth(memory)),
        dram_base=rng.randrange(2048 // size + 1),
        y_size=rng.randint(1, 4),
        x_size=x_size,
        x_stride=stride,
        y_pad_0=min(2, pads[0]),
        y_pad_1=min(2, pads[1]),
        x_pad_0=pads[2],
        x_pad_1=pads[3],
        coding=coding,
    )


SHAPES = [
    pytest.param(TINY, id="tiny-64"),
    pytest.param(TINY.replace(bus_bits=512, load_buffer=8), id="tiny-512"),
    pytest.param(HardwareConfig(load_buffer=64), id="pynq-64"),
    pytest.param(HardwareConfig(bus_bits=128, load_buffer=64), id="pynq-128"),
    pytest.param(HardwareConfig(bus_bits=256, log_batch=1, longest_burst=16), id="batch2-256"),
    pytest.param(TINY.replace(log_block_in=0, log_block_out=0), id="one-multiplier"),
    pytest.param(TINY.replace(features=REQUANTISE), id="requantise-64"),
    pytest.param(
        TINY.replace(features=REQUANTISE, bus_bits=512, load_buffer=8), id="requantise-512"
    ),
    pytest.param(load_config("tiny-w"), id="codes-two-banks"),
    pytest.param(load_config("small8-w"), id="codes-64"),
    pytest.param(load_config("pynq-w").replace(bus_bits=128, load_buffer=64), id="codes-128"),
    *(
        pytest.param(config, id=config.name)
        for config in UNCOMMON
        if config.name.startswith("compressed")
    ),
]


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("chance", [1.0, 0.4])
@pytest.mark.parametrize("config", SHAPES)
def test_writes_what_and_when(config: HardwareConfig, chance: float, seed: int) -> None:
    rng = random.Random(seed)
    for memories in (load_memories(config), COMPUTE_MEMORIES):
        loads = [random_load(rng, config, rng.choice(memories)) for _ in range(5)]
        run_loads(config, memories, loads, seed, chance)


def small_loads(rng: random.Random) -> list[Load]:
    """LOADs of INP of every shape of one or two rows and columns, with and without each padding:
    where the flags of an element that ends its row, its data or its LOAD can be wrong."""
    sides = [
        (before, size, after) for before in (0, 1) for size in (1, 2, 3) for after in (0, 1, 2)
    ]
    loads = [
        Load(
            memory=MemoryId.INP,
            sram_base=rng.randrange(32),
            dram_base=rng.randrange(64),
            y_size=y_size,
            x_size=x_size,
            x_stride=rng.randrange(5),
            y_pad_0=y_pad_0,
            y_pad_1=y_pad_1,
            x_pad_0=x_pad_0,
            x_pad_1=x_pad_1,
        )
        for y_pad_0, y_size, y_pad_1 in sides
        for x_pad_0, x_size, x_pad_1 in sides
    ]
    # Each comes after any other: nothing of a LOAD must be left for the next.
    rng.shuffle(loads)
    return loads


@pytest.mark.every(4)
@pytest.mark.parametrize("chance", [1.0, 0.6])
def test_every_small_shape(chance: float) -> None:
    rng = random.Random(3)
    loads = small_loads(rng)
    assert len(set(loads)) == 18**2
    run_loads(TINY, LOAD_MEMORIES, loads if chance == 1.0 else loads[:80], 3, chance)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("config", SHAPES)
def test_many_loads(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(seed)
    for memories in (load_memories(config), COMPUTE_MEMORIES):
        loads = [random_load(rng, config, rng.choice(memories)) for _ in range(30)]
        run_loads(config, memories, loads, seed, rng.choice((1.0, 0.7, 0.2)))


def test_padding_does_not_wait_for_memory() -> None:
    """A memory that never answers: the padding in front of the data is written all the same."""
    dma = built(LoadDma, TINY, LOAD_MEMORIES, depth=16)
    load = Load(
        memory=MemoryId.INP,
        sram_base=0,
        dram_base=0,
        y_size=1,
        x_size=2,
        x_stride=2,
        y_pad_0=2,
        x_pad_0=3,
        x_pad_1=4,
    )

    async def bench(ctx: Context) -> None:
        writes = Writes(dma, LOAD_MEMORIES)
        ctx.set(dma.word.as_value(), int.from_bytes(encode(TINY, load), "little"))
        ctx.set(dma.start, 1)
        await cycle(ctx, Watch(writes.look))
        ctx.set(dma.start, 0)
        await cycle(ctx, Watch(writes.look), count=39)
        # Two rows of nine, and three in front of the data; from three cycles after the start on.
        assert {memory for memory, _ in writes.seen} == {MemoryId.INP}
        assert [write[0] for _, write in writes.seen] == list(range(21))
        assert [write[3] for _, write in writes.seen] == list(range(3, 24))
        assert all(write[1] is None for _, write in writes.seen)
        assert ctx.get(dma.starved)
        assert ctx.get(dma.active)

    simulate(dma, bench)


def test_the_expectation_is_the_reference_machine_s() -> None:
    rng = random.Random(1)
    content = random_bytes(rng, MEMORY_BYTES)
    compared = 0
    while compared < 20:
        load = replace(random_load(rng, TINY, MemoryId.INP), sram_base=0)
        rows = load.y_pad_0 + load.y_size + load.y_pad_1
        if rows * (load.x_pad_0 + load.x_size + load.x_pad_1) > TINY.depth(MemoryId.INP):
            continue
        machine = ReferenceMachine(TINY, BASES)
        machine.inp[:] = -1
        machine.step(load, np.frombuffer(content, np.uint8))
        for element, _, data, _ in expected(TINY, load, content, repeat(0), 0):
            assert machine.inp[element].tobytes() == data.to_bytes(4, "little")
        compared += 1


def test_names_tell_memories_apart() -> None:
    dma = LoadDma(TINY, LOAD_MEMORIES, depth=16)
    assert only_built(dma).variant() == "inp_wgt"
    config = TINY.replace(features=REQUANTISE)
    dma = LoadDma(config, load_memories(config), depth=16)
    assert only_built(dma).variant() == "inp_wgt_par"
    config = load_config("tiny-w")
    dma = LoadDma(config, load_memories(config), depth=16)
    assert only_built(dma).variant() == "inp_wgt_par_wgt_codes"

"""Elements of OUT packed into beats."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId, Store, encode
from tandem.hw.rtl.layouts import row_bits, rows_layout, strobed_layout
from tandem.hw.timing import OUT_QUEUE_BEATS
from tests.support.hw.rtl.queued_packer import QueuedPacker
from tests.support.hw.rtl.rtl import (
    Context,
    ElementMemory,
    Sink,
    Watch,
    built,
    cycle,
    cycles,
    has,
    seeds,
    simulate,
)

TINY = load_config("tiny")


def machine(log_lanes: int, bus_bits: int) -> HardwareConfig:
    """That many lanes, 32 accumulators."""
    return TINY.replace(
        log_block_out=log_lanes,
        log_wgt_buffer=6 + log_lanes,
        log_acc_buffer=7 + log_lanes,
        bus_bits=bus_bits,
    )


SHAPES = [(0, 64), (2, 64), (3, 64), (4, 64), (6, 64), (2, 512), (5, 512), (6, 512), (7, 512)]
"""log2 of the bytes of an element, and the bus: narrower than a beat, equal, wider."""


def expected(
    config: HardwareConfig, store: Store, base: int, elements: list[bytes]
) -> Iterator[tuple[bytes, int]]:
    """Each beat with its strobes; bytes that are not written are zero here."""
    bus, size = config.bus_bytes, len(elements[0])
    at = store.sram_base
    for y in range(store.y_size):
        start = base + (store.dram_base + y * store.x_stride) * size
        place = [element % len(elements) for element in range(at, at + store.x_size)]
        row = b"".join(elements[element] for element in place)
        at += store.x_size
        first = start // bus * bus
        after = -(-(start + len(row)) // bus) * bus
        padded = bytes(start - first) + row + bytes(after - start - len(row))
        for beat in range(first, after, bus):
            strobes = sum(
                1 << byte for byte in range(bus) if start <= beat + byte < start + len(row)
            )
            yield padded[beat - first : beat - first + bus], strobes


def masked(data: int, strobes: int, bus: int) -> bytes:
    """What counts of a beat."""
    content = data.to_bytes(bus, "little")
    return bytes(value if strobes >> place & 1 else 0 for place, value in enumerate(content))


def run_stores(
    config: HardwareConfig, stores: list[Store], rng: random.Random, chance: float
) -> list[tuple[Store, list[int]]]:
    """Read the STOREs one after the other; each with the cycles of its beats, from its start."""
    design = built(QueuedPacker, config)
    packer = design.packer
    size = config.element_bytes(MemoryId.OUT)
    elements = [rng.randbytes(size) for _ in range(config.depth(MemoryId.OUT))]
    layout = strobed_layout(config)
    rows = rows_layout(config.address_bits, row_bits(config))
    times: list[tuple[Store, list[int]]] = []
    base = 0x1000

    async def bench(ctx: Context) -> None:
        ports = (packer.out_enable, packer.out_address, packer.out_data)
        memory = ElementMemory(ports, elements, rng)
        sink = Sink(design.beat, rng, chance)
        for store in stores:
            assert not ctx.get(packer.active)
            ctx.set(packer.start, 1)
            ctx.set(packer.word.as_value(), int.from_bytes(encode(config, store), "little"))
            place = {
                "address": base + store.dram_base * size,
                "size": store.x_size * size,
                "stride": store.x_stride * size,
                "rows": store.y_size,
            }
            ctx.set(packer.rows.as_value(), int(rows.const(place).as_bits()))
            begin, before = sink.now, len(sink.received)
            await cycle(ctx, memory, sink)
            ctx.set(packer.start, 0)
            ctx.set(packer.word.as_value(), rng.getrandbits(128))
            ctx.set(packer.rows.as_value(), 0)
            wanted = list(expected(config, store, base, elements))
            total = before + len(wanted)
            if chance < 1.0:
                # A consumer that takes nothing: the queue holds everything that was read.
                sink.chance = 0.0
                await cycle(ctx, memory, sink, count=20)
                sink.chance = chance
            await cycles(ctx, memory, sink, until=has(sink.received, total))
            assert not ctx.get(packer.active)
            beats = [layout.from_bits(beat) for beat in sink.received[before:]]
            bus = config.bus_bytes
            found = [(masked(beat.data, beat.strobe, bus), beat.strobe) for beat in beats]
            assert found == wanted, f"{store}"
            times.append((store, [time - begin for time in sink.times[before:]]))

    simulate(design, bench)
    return times


def random_store(rng: random.Random, config: HardwareConfig) -> Store:
    """Short rows anywhere in a beat."""
    per_beat = max(1, config.bus_bytes // config.element_bytes(MemoryId.OUT))
    x_size = rng.choice((1, per_beat, rng.randint(1, 2 * per_beat + 3)))
    return Store(
        memory=MemoryId.OUT,
        sram_base=rng.randrange(config.depth(MemoryId.OUT)),
        dram_base=rng.randrange(100),
        y_size=rng.randint(1, 4),
        x_size=x_size,
        x_stride=x_size + rng.choice((0, 1, per_beat)),
    )


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("chance", [1.0, 0.4])
@pytest.mark.parametrize("shape", SHAPES)
def test_packs_rows(shape: tuple[int, int], chance: float, seed: int) -> None:
    rng = random.Random(seed)
    config = machine(*shape)
    run_stores(config, [random_store(rng, config) for _ in range(6)], rng, chance)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_beat_or_one_element_a_cycle(shape: tuple[int, int]) -> None:
    config = machine(*shape)
    size, bus = config.element_bytes(MemoryId.OUT), config.bus_bytes
    store = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=30, x_stride=30)
    ((_, times),) = run_stores(config, [store], random.Random(0), 1.0)
    cycles_a_beat = max(1, bus // size)
    # The first element is read in cycle 1, packed in 2; its beat can be written in 3.
    full = 30 * size // bus
    wanted = [2 + cycles_a_beat * (number + 1) for number in range(full)]
    assert times[:full] == wanted


def test_reads_ahead_as_far_as_there_is_room() -> None:
    design = built(QueuedPacker, TINY)
    packer = design.packer

    async def bench(ctx: Context) -> None:
        store = Store(
            memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=20, x_size=1, x_stride=2
        )
        ctx.set(packer.start, 1)
        ctx.set(packer.word.as_value(), int.from_bytes(encode(TINY, store), "little"))
        ctx.set(packer.rows, {"address": 0, "size": 4, "stride": 8, "rows": 20})
        await ctx.tick()
        ctx.set(packer.start, 0)
        asked = 0
        for _ in range(30):
            asked += ctx.get(packer.out_enable)
            await ctx.tick()
        # Each row is a beat of its own.
        assert asked == OUT_QUEUE_BEATS
        assert ctx.get(packer.active)

    simulate(design, bench)


@pytest.mark.parametrize("chance", [1.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_reads_while_fewer_than_four_beats_are_complete(
    shape: tuple[int, int], chance: float
) -> None:
    """Rule 7: in each cycle an element, or a bank of a wide one, unless four beats are complete."""
    config = machine(*shape)
    design = built(QueuedPacker, config)
    packer = design.packer
    size, bus = config.element_bytes(MemoryId.OUT), config.bus_bytes
    banks, per_beat = max(1, size // bus), max(1, bus // size)
    columns, rows = 2 * per_beat + 1, 4
    store = Store(
        memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=rows, x_size=columns, x_stride=columns
    )
    completes = [
        bool(banks > 1 or (column + 1) % per_beat == 0 or column + 1 == columns)
        for _ in range(rows)
        for column in range(columns)
        for _ in range(banks)
    ]
    reads: list[int] = []

    async def bench(ctx: Context) -> None:
        ctx.set(packer.start, 1)
        ctx.set(packer.word.as_value(), int.from_bytes(encode(config, store), "little"))
        # Every row begins with a beat.
        stride = 4 * bus * banks
        ctx.set(packer.rows, {"address": 0, "size": columns * size, "stride": stride, "rows": rows})
        await ctx.tick()
        ctx.set(packer.start, 0)
        sink = Sink(design.beat, random.Random(5), chance)

        def look(ctx: Context) -> None:
            if ctx.get(packer.out_enable):
                reads.append(sink.now)

        await cycles(ctx, Watch(look), sink, until=has(sink.received, sum(completes)))
        wanted: list[int] = []
        complete: list[int] = []
        for last in completes:
            cycle = wanted[-1] + 1 if wanted else 0
            while len(complete) - sum(taken < cycle for taken in sink.times) >= OUT_QUEUE_BEATS:
                cycle += 1
            wanted.append(cycle)
            complete += [cycle] * last
        assert reads == wanted

    simulate(design, bench)

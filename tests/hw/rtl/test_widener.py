"""The widener, beat by beat, against a memory that is written as the formats say."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId
from tandem.hw.rtl.load import load_memories
from tandem.hw.rtl.widener import Widener
from tandem.hw.weight_blocks import packed_blocks
from tandem.hw.weight_formats import WeightFormat
from tandem.hw.widening import widening_of
from tests.support.hw.configs import UNCOMMON
from tests.support.hw.rtl.rtl import Context, built, seeds, simulate

TINY, SMALL = load_config("tiny-w"), load_config("small8-w")
SHAPES = (
    TINY,
    SMALL,
    load_config("pynq-w").replace(name="wide", bus_bits=128),
    *(config for config in UNCOMMON if config.name.startswith("compressed")),
)
Element = npt.NDArray[np.int8]


class Side:
    """The DMA's side, and WGT's: `memory` has the elements that were written."""

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self.memories = load_memories(config)
        self.widener = built(Widener, config, self.memories)
        self.memory: dict[int, bytearray] = {}
        self.size = config.element_bytes(MemoryId.WGT)

    async def tick(self, ctx: Context) -> None:
        """A cycle, and what WGT does in it."""
        enable, address = ctx.get(self.widener.enable), ctx.get(self.widener.address)
        bus, word = self.config.bus_bytes, widening_of(self.config).word_banks
        data = int(ctx.get(self.widener.data)).to_bytes(word * bus, "little")
        for bank in range(self.size // bus):
            if enable >> bank & 1:
                element = self.memory.setdefault(address, bytearray(self.size))
                part = bank % word * bus
                element[bank * bus : (bank + 1) * bus] = data[part : part + bus]
        await ctx.tick()

    async def set_table(self, ctx: Context, entries: Sequence[int]) -> None:
        port = self.widener.set_entry
        for index, entry in enumerate(entries):
            ctx.set(port.valid, 1)
            ctx.set(port.index, index)
            ctx.set(port.entry, entry & 0xFF)
            await self.tick(ctx)
        ctx.set(port.valid, 0)

    async def write(
        self,
        ctx: Context,
        memory: MemoryId,
        address: int,
        beats: bytes,
        coding: Coding = Coding.BITS_1,
        *,
        pad: bool = False,
    ) -> None:
        """Beats of one element of a memory, as the DMA writes them; or one write of padding."""
        config, port = self.config, self.widener.write
        widening, bus = widening_of(config), config.bus_bytes
        coded = memory is MemoryId.WGT_CODES
        ctx.set(port.valid, 1)
        ctx.set(port.select, 1 << self.memories.index(memory))
        ctx.set(port.address, address)
        ctx.set(port.coding, coding)
        ctx.set(port.pad, pad)
        first = -widening.scale_beats if coded and coding.scaled else 0
        for number in range(1 if pad else len(beats) // bus):
            ctx.set(port.bank, (first + number) % (1 << len(port.bank)))
            ctx.set(port.data, int.from_bytes(beats[bus * number :][:bus], "little"))
            for step in range(widening.steps(coding) if coded and not pad else 1):
                ctx.set(port.step, step)
                await self.tick(ctx)
        ctx.set(port.valid, 0)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("config", SHAPES, ids=lambda config: config.name)
def test_elements_are_what_the_formats_say(config: HardwareConfig, seed: int) -> None:
    """Blocks of all codings, of any codes, scales and tables; int8 blocks, padding, idle cycles
    and writes of other memories between them."""
    rng = random.Random(seed)
    draw = np.random.default_rng(seed).integers
    side = Side(config)
    shape = (config.block_out, config.block_in)
    wanted: dict[int, bytes] = {}

    async def bench(ctx: Context) -> None:
        table = [rng.randint(-128, 127) for _ in range(16)]
        await side.set_table(ctx, table)
        for _ in range(30):
            address, kind = rng.randrange(6), rng.randrange(8)
            coding = rng.choice([*Coding])
            if kind == 0:
                table = [rng.randint(-128, 127) for _ in range(16)]
                await side.set_table(ctx, table)
            elif kind == 1:
                data = rng.randbytes(side.size)
                await side.write(ctx, MemoryId.WGT, address, data)
                wanted[address] = data
            elif kind == 2:
                memory = rng.choice((MemoryId.WGT, MemoryId.WGT_CODES))
                garbage = rng.randbytes(config.bus_bytes)
                await side.write(ctx, memory, address, garbage, coding, pad=True)
                wanted[address] = bytes(side.size)
            elif kind == 3:
                await side.write(ctx, MemoryId.INP, address, rng.randbytes(config.bus_bytes))
                await side.tick(ctx)
            else:
                codes = draw(0, 1 << coding.bits, shape, np.uint8)
                scales = draw(0, 16, shape[0], np.uint8)
                data = packed_blocks(config, coding, codes, scales if coding.scaled else None)
                await side.write(ctx, MemoryId.WGT_CODES, address, data.tobytes(), coding)
                entries = tuple(table[: 1 << coding.bits])
                weights = WeightFormat("drawn", coding.bits, entries, coding.scaled)
                wanted[address] = weights.widened(codes, scales[:, np.newaxis]).tobytes()
        await side.tick(ctx)
        await side.tick(ctx)

    simulate(side.widener, bench)
    assert side.memory == wanted


def _every_product(turns: Sequence[int]) -> None:
    """Of each wide lane: every code with every entry that tables of 16 neighbouring values give it,
    times every scale."""
    side = Side(SMALL)
    rows, columns = SMALL.block_out, SMALL.block_in

    async def bench(ctx: Context) -> None:
        for first in range(-128, 128, 16):
            table = [*range(first, first + 16)]
            await side.set_table(ctx, table)
            weights = WeightFormat("drawn", 4, tuple(table), scaled=True)
            for turn in turns:
                codes = np.arange(turn, turn + rows * columns, dtype=np.uint8)
                codes = codes.reshape(rows, columns) % 16
                for scale in range(16):
                    scales = (np.arange(rows, dtype=np.uint8) + scale) % 16
                    block = packed_blocks(SMALL, Coding.BITS_4_SCALED, codes, scales)
                    side.memory.clear()
                    await side.write(
                        ctx, MemoryId.WGT_CODES, 0, block.tobytes(), Coding.BITS_4_SCALED
                    )
                    await side.tick(ctx)
                    wanted = weights.widened(codes, scales[:, np.newaxis]).tobytes()
                    assert side.memory == {0: wanted}, (first, turn, scale)

    simulate(side.widener, bench)


def test_products_of_every_entry_and_scale() -> None:
    _every_product([3])


@pytest.mark.exhaustive
def test_products_of_every_code_entry_and_scale_in_every_lane() -> None:
    _every_product(range(16))

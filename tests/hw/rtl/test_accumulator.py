"""The accumulators against an array, with all that writes them and all that reads them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import BASE, Feature
from tandem.hw.rtl.accumulator import COMPUTE_MEMORIES, Accumulator
from tandem.hw.topology import MemoryId
from tests.support.hw.rtl.rtl import Context, seeds, simulate

Element = npt.NDArray[np.int32]
DEPTH = 8
SHAPES = [(0, 0, 64), (0, 1, 64), (0, 2, 64), (0, 2, 512), (1, 4, 64), (0, 4, 128), (0, 4, 512)]
"""log2 of batch and of output channels, and the bus."""


def machine(
    log_batch: int,
    log_block_out: int,
    bus_bits: int,
    acc_read_ports: int = 2,
    features: frozenset[Feature] = BASE,
) -> HardwareConfig:
    """`DEPTH` accumulators of that many lanes."""
    return HardwareConfig(
        log_batch=log_batch,
        log_block_in=2,
        log_block_out=log_block_out,
        log_uop_buffer=8,
        log_inp_buffer=8,
        log_wgt_buffer=10,
        log_acc_buffer=5 + log_batch + log_block_out,
        bus_bits=bus_bits,
        acc_read_ports=acc_read_ports,
        features=features,
    )


class Bench:
    """The component and its model side by side."""

    def __init__(self, config: HardwareConfig, rng: random.Random) -> None:
        self.config = config
        self.block = Accumulator(config)
        self.lanes = config.acc_lanes
        self.rng = rng
        self.model = np.zeros((DEPTH, self.lanes), np.int32)
        self.has_out = MemoryId.PAR not in config.memories
        self.reads = {name: 0 for name in ("dst", "src", *(["out"] if self.has_out else []))}

    def element(self) -> Element:
        """Random values of 32 bits."""
        return np.frombuffer(self.rng.randbytes(4 * self.lanes), np.int32).copy()

    async def cycle(self, ctx: Context, written: int) -> None:
        """Let this cycle's write happen; read elsewhere at the same time, and compare."""
        wanted: dict[str, Element] = {}
        only = self.rng.choice(("dst", "src")) if self.config.acc_read_ports == 1 else None
        for name in self.reads:
            address = self.rng.randrange(DEPTH)
            enabled = (
                address != written and self.rng.random() < 0.7 and name in (only or name, "out")
            )
            ctx.set(getattr(self.block, f"{name}_enable"), enabled)
            ctx.set(getattr(self.block, f"{name}_address"), address)
            if enabled:
                wanted[name] = self.model[address].copy()
        if not self.has_out:
            if ctx.get(self.block.write.enable):
                assert ctx.get(self.block.write.address) == written
        await ctx.tick()
        ctx.set(self.block.write_enable, 0)
        ctx.set(self.block.dma.valid, 0)
        for name, element in wanted.items():
            content = element.tobytes() if name != "out" else element.astype(np.int8).tobytes()
            found = ctx.get(getattr(self.block, f"{name}_data"))
            assert found == int.from_bytes(content, "little"), name

    async def from_lanes(self, ctx: Context, address: int, element: Element) -> None:
        """A whole element at once. What the DMA's port holds beside it does not count."""
        ctx.set(self.block.write_enable, 1)
        ctx.set(self.block.write_address, address)
        ctx.set(self.block.write_data, int.from_bytes(element.tobytes(), "little"))
        await self.cycle(ctx, address)
        self.model[address] = element

    async def from_dram(
        self, ctx: Context, memory: MemoryId, address: int, element: Element
    ) -> None:
        """An element as the DMA writes it: one bank of a beat each cycle."""
        dma = self.block.dma
        kind = np.int8 if memory is MemoryId.ACC_8BIT else np.int32
        content = element.astype(kind).tobytes()
        bus = self.config.bus_bytes
        ctx.set(dma.select, 1 << COMPUTE_MEMORIES.index(memory))
        ctx.set(dma.pad, 0)
        ctx.set(dma.address, address)
        for bank, start in enumerate(range(0, len(content), bus)):
            if self.rng.random() < 0.3:
                await self.cycle(ctx, address)
            ctx.set(dma.valid, 1)
            ctx.set(dma.bank, bank)
            piece = content[start : start + bus]
            # Above a narrow element, a beat holds its neighbours.
            beat = piece + self.rng.randbytes(bus - len(piece))
            ctx.set(dma.data, int.from_bytes(beat, "little"))
            await self.cycle(ctx, address)
        self.model[address] = element.astype(kind).astype(np.int32)

    async def padding(self, ctx: Context, memory: MemoryId, address: int) -> None:
        """Zeros in one cycle, whatever the data."""
        dma = self.block.dma
        ctx.set(dma.valid, 1)
        ctx.set(dma.select, 1 << COMPUTE_MEMORIES.index(memory))
        ctx.set(dma.pad, 1)
        ctx.set(dma.bank, 0)
        ctx.set(dma.address, address)
        ctx.set(dma.data, self.rng.getrandbits(self.config.bus_bits))
        await self.cycle(ctx, address)
        self.model[address] = 0

    async def micro_ops(self, ctx: Context, address: int) -> None:
        """The DMA writes the micro-op memory: no business of the accumulators."""
        dma = self.block.dma
        ctx.set(dma.valid, 1)
        ctx.set(dma.select, 1 << COMPUTE_MEMORIES.index(MemoryId.UOP))
        ctx.set(dma.pad, self.rng.randrange(2))
        ctx.set(dma.bank, 0)
        ctx.set(dma.address, address)
        await self.cycle(ctx, DEPTH)


REQUANTISE = frozenset({Feature.REQUANTISE})


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(
    "shape",
    [*SHAPES, (0, 2, 64, 1), (1, 4, 128, 1), (1, 4, 64, 2, REQUANTISE), (0, 2, 512, 1, REQUANTISE)],
)
def test_holds_what_was_written_last(shape: tuple[Any, ...], seed: int) -> None:
    rng = random.Random(seed)
    side = Bench(machine(*shape), rng)
    narrow, wide = MemoryId.ACC_8BIT, MemoryId.ACC

    async def bench(ctx: Context) -> None:
        for address in range(DEPTH):
            ctx.set(side.block.write_enable, 1)
            ctx.set(side.block.write_address, address)
            await ctx.tick()
        ctx.set(side.block.write_enable, 0)
        for _ in range(30):
            address = rng.randrange(DEPTH)
            match rng.randrange(6):
                case 0:
                    await side.from_lanes(ctx, address, side.element())
                case 1:
                    await side.from_dram(ctx, wide, address, side.element())
                case 2:
                    await side.from_dram(ctx, narrow, address, side.element())
                case 3:
                    await side.padding(ctx, rng.choice((narrow, wide)), address)
                case 4:
                    await side.micro_ops(ctx, address)
                case _:
                    await side.cycle(ctx, DEPTH)

    simulate(side.block, bench)


def test_bytes_are_extended_by_their_sign() -> None:
    side = Bench(machine(0, 2, 64), random.Random(0))
    element = np.array([-128, -1, 0, 127], np.int32)

    async def bench(ctx: Context) -> None:
        await side.from_dram(ctx, MemoryId.ACC_8BIT, 3, element)
        ctx.set(side.block.dst_enable, 1)
        ctx.set(side.block.dst_address, 3)
        await ctx.tick()
        found = int(ctx.get(side.block.dst_data)).to_bytes(16, "little")
        assert np.frombuffer(found, np.int32).tolist() == element.tolist()

    side.reads.clear()
    simulate(side.block, bench)

"""OUT beside the requantisers, against an array: what is written, where, and when."""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.rtl.accumulator import COMPUTE_MEMORIES, Accumulator
from tandem.hw.rtl.out_memory import OutMemory
from tandem.hw.timing import OUT_STAGES
from tandem.hw.topology import MemoryId
from tests.support.hw.rtl.rtl import Context, seeds, simulate

DEPTH = 8
SHAPES = [(0, 0, 64), (0, 1, 64), (0, 2, 512), (1, 4, 64), (0, 4, 128), (0, 4, 512), (1, 5, 256)]
"""log2 of batch and of output channels, and the bus."""

Bytes = npt.NDArray[np.uint8]


def machine(log_batch: int, log_block_out: int, bus_bits: int) -> HardwareConfig:
    """`DEPTH` elements of that many values."""
    return HardwareConfig(
        log_batch=log_batch,
        log_block_in=2,
        log_block_out=log_block_out,
        log_uop_buffer=8,
        log_inp_buffer=8,
        log_wgt_buffer=10,
        log_acc_buffer=5 + log_batch + log_block_out,
        bus_bits=bus_bits,
        features=frozenset({Feature.REQUANTISE}),
    )


class Bench:
    """OUT behind the accumulators that tell it of their writes, in the place of requantisers."""

    def __init__(self, config: HardwareConfig) -> None:
        self.circuit = m = Module()
        m.submodules.acc = self.acc = Accumulator(config)
        m.submodules.out = self.out = out = OutMemory(config)
        m.d.comb += [out.write.eq(self.acc.write), out.low.eq(self.acc.low)]
        self.model = np.zeros((DEPTH, config.acc_lanes), np.uint8)
        # What is written in the next cycles, and whether it comes from requantisers.
        self.writes: deque[tuple[int, slice, Bytes, bool] | None] = deque([None] * OUT_STAGES)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("shape", SHAPES)
def test_writes_follow_those_of_acc(shape: tuple[int, int, int], seed: int) -> None:
    """Low bytes of lanes and of LOADs, back to back, but never at once; and requantised ones."""
    config = machine(*shape)
    rng = random.Random(seed)
    stand = Bench(config)
    lanes, bus = config.acc_lanes, config.bus_bytes

    def random_bytes(count: int = lanes) -> Bytes:
        return np.frombuffer(rng.randbytes(count), np.uint8)

    def load(ctx: Context) -> tuple[int, slice, Bytes] | None:
        """One write of a DMA."""
        memory = rng.choice(COMPUTE_MEMORIES)
        size = config.element_bytes(memory)
        beats = max(1, size // bus)
        bank, pad, address = rng.randrange(beats), rng.random() < 0.3, rng.randrange(DEPTH)
        content = rng.randbytes(bus)
        dma = stand.acc.dma
        ctx.set(dma.valid, 1)
        ctx.set(dma.select, 1 << COMPUTE_MEMORIES.index(memory))
        ctx.set(dma.pad, pad)
        ctx.set(dma.address, address)
        ctx.set(dma.bank, bank)
        ctx.set(dma.data, int.from_bytes(content, "little"))
        if memory is MemoryId.UOP:
            return None
        if pad:
            return address, slice(0, lanes), np.zeros(lanes, np.uint8)
        step = 4 if memory is MemoryId.ACC else 1
        values = np.frombuffer(content[: min(size, bus)], np.uint8)[::step]
        return address, slice(bank * len(values), (bank + 1) * len(values)), values

    async def bench(ctx: Context) -> None:
        for _ in range(300):
            ctx.set(stand.acc.write_enable, 0)
            ctx.set(stand.acc.dma.valid, 0)
            kind = rng.randrange(3)
            loaded = load(ctx) if kind == 1 else None
            written = None if loaded is None else (*loaded, False)
            values = np.frombuffer(rng.randbytes(4 * lanes), np.int32)
            ctx.set(stand.acc.write_data, int.from_bytes(values.tobytes(), "little"))
            if kind == 0:
                requantised, address = rng.random() < 0.5, rng.randrange(DEPTH)
                ctx.set(stand.acc.write_enable, 1)
                ctx.set(stand.acc.write_address, address)
                given = random_bytes() if requantised else values.astype(np.uint8)
                written = address, slice(0, lanes), given, requantised
            stand.writes.append(written)
            due = stand.writes.popleft()
            # Of a write of low bytes, and without a write, the requantisers' are any.
            from_them = due is not None and due[3]
            given = due[2] if due is not None and from_them else random_bytes()
            ctx.set(stand.out.value, int.from_bytes(given.tobytes(), "little"))
            ctx.set(stand.out.requantised, from_them)
            # The address that is written in this cycle cannot be read in it.
            address = rng.randrange(DEPTH)
            ctx.set(stand.out.out_address, address)
            ctx.set(stand.out.out_enable, 1)
            wanted = None if due is not None and due[0] == address else stand.model[address].copy()
            if due is not None:
                stand.model[due[0]][due[1]] = due[2]
            await ctx.tick()
            if wanted is not None:
                found = int(ctx.get(stand.out.out_data)).to_bytes(lanes, "little")
                assert found == wanted.tobytes()

    simulate(stand.circuit, bench)

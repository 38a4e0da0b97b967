"""OUT beside the requantisers, against an array: what is written, where, and when."""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, Signal

from hw.config import HardwareConfig
from hw.features import Feature
from hw.rtl.accumulator import COMPUTE_MEMORIES, Accumulator
from hw.rtl.out_memory import OutMemory
from hw.timing import OUT_STAGES
from hw.topology import MemoryId
from tests.support.rtl import Context, seeds, simulate

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
    """OUT behind the accumulators that tell it of their writes, and a last stage of requantisers
    that only selects."""

    def __init__(self, config: HardwareConfig) -> None:
        self.circuit = m = Module()
        m.submodules.acc = self.acc = Accumulator(config)
        m.submodules.out = self.out = out = OutMemory(config)
        self.requantised = Signal(8 * config.acc_lanes)
        """The bytes of the lanes, in the last stage."""
        with m.If(out.load):
            m.d.sync += out.value.eq(out.loaded)
        with m.Else():
            m.d.sync += out.value.eq(self.requantised)
        dma, acc = out.dma, self.acc
        m.d.comb += [
            out.write.eq(acc.write),
            *(
                getattr(dma, name).eq(getattr(acc.dma, name))
                for name in ("valid", "select", "pad", "address", "bank", "data")
            ),
        ]
        self.model = np.zeros((DEPTH, config.acc_lanes), np.uint8)
        # What is written, and the bytes of the lanes, for each of the last cycles.
        self.writes: deque[tuple[int, slice, Bytes] | None] = deque([None] * OUT_STAGES)
        self.lanes: deque[Bytes | None] = deque([None] * (OUT_STAGES - 1))


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("shape", SHAPES)
def test_writes_follow_those_of_acc(shape: tuple[int, int, int], seed: int) -> None:
    """From lanes and from LOADs, back to back, but never at once."""
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
            written: tuple[int, slice, Bytes] | None = None
            given: Bytes | None = None
            if kind == 0:
                given, address = random_bytes(), rng.randrange(DEPTH)
                ctx.set(stand.acc.write_enable, 1)
                ctx.set(stand.acc.write_address, address)
                written = address, slice(0, lanes), given
            elif kind == 1:
                written = load(ctx)
            stand.writes.append(written)
            stand.lanes.append(given)
            due, bytes_now = stand.writes.popleft(), stand.lanes.popleft()
            bytes_now = random_bytes() if bytes_now is None else bytes_now
            ctx.set(stand.requantised, int.from_bytes(bytes_now.tobytes(), "little"))
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

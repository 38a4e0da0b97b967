"""A compute unit with its queue, tokens and memories, for tests of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import (
    Alu,
    AluOp,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    encode,
    pack_uops,
)
from tandem.hw.rtl.compute import ComputeUnit
from tandem.hw.rtl.layouts import queued_layout
from tests.support.hw.rtl.plain_compute import PlainCompute, parameter_bytes
from tests.support.hw.rtl.rtl import (
    Agent,
    Context,
    ElementMemory,
    Source,
    StatusLog,
    TokenSide,
    bits,
    built,
    cycle,
    cycles,
    has,
)
from tests.support.hw.rtl.rtl_bus import PortMemory
from tests.support.sim.reference import Image

BASES = {memory: 0x400 * (memory + 1) for memory in MemoryId}
MEMORY_BYTES = 1 << 13
FIRST_INDEX = 3000


class Stand:
    """A compute unit with its queue, tokens and memories."""

    def __init__(
        self,
        config: HardwareConfig,
        program: list[Instruction],
        image: Image,
        machine: PlainCompute,
        rng: random.Random,
        offers: float = 1.0,
        **memory_options: Any,
    ) -> None:
        self.config = config
        self.program = program
        self.unit = unit = built(ComputeUnit, config)
        words = [
            bits(
                queued_layout(),
                word=int.from_bytes(encode(config, instruction), "little"),
                index=FIRST_INDEX + place,
            )
            for place, instruction in enumerate(program)
        ]
        pops = [
            sum(getattr(instruction.tokens, name) for instruction in program)
            for name in ("pop_prev", "pop_next")
        ]
        self.prev = TokenSide(unit.prev, rng, pops[0], offers)
        self.next = TokenSide(unit.next, rng, pops[1], offers)
        self.memory = PortMemory(config, unit.port, image.tobytes(), rng, **memory_options)
        self.status = StatusLog(unit.status)
        inp = (unit.array_enable, unit.inp_address, unit.inp_data)
        wgt = (unit.array_enable, unit.wgt_address, unit.wgt_data)
        self.agents: tuple[Agent, ...] = (
            Source(unit.queue, words, rng, offers),
            self.prev,
            self.next,
            self.memory,
            ElementMemory(inp, [each.tobytes() for each in machine.inp], rng),
            ElementMemory(wgt, [each.tobytes() for each in machine.wgt], rng),
            self.status,
            *self._par(machine, rng),
        )

    def _par(self, machine: PlainCompute, rng: random.Random) -> tuple[ElementMemory, ...]:
        """PAR, if the unit reads it."""
        unit = self.unit
        if MemoryId.PAR not in self.config.memories:
            return ()
        elements = [parameter_bytes(each, rng) for each in machine.par]
        return (ElementMemory((unit.par_enable, unit.par_address, unit.par_data), elements, rng),)

    async def begin(self, ctx: Context) -> None:
        for memory in self.config.memories:
            ctx.set(self.unit.bases[memory.base.name.lower()], BASES[memory.base])

    async def finish(self, ctx: Context) -> None:
        """Run to the end of the last instruction."""
        total = len(self.program)
        await cycles(ctx, *self.agents, until=has(self.status.ends, total), limit=20000)
        await cycle(ctx, *self.agents)

    async def out(self, ctx: Context) -> list[int]:
        """Every element of OUT."""
        found = []
        ctx.set(self.unit.out_enable, 1)
        for address in range(self.config.depth(MemoryId.OUT)):
            ctx.set(self.unit.out_address, address)
            await ctx.tick()
            found.append(int(ctx.get(self.unit.out_data)))
        return found

    def compare_tokens(self) -> None:
        """Every instruction in order; pops when it starts, pushes when it ends."""
        indices = [FIRST_INDEX + place for place in range(len(self.program))]
        assert len(self.status.starts) == len(indices)
        assert [index for index, _ in self.status.ends] == indices
        starts, ends = self.status.starts, [time for _, time in self.status.ends]
        for name, times, found in (
            ("pop_prev", starts, self.prev.pops),
            ("pop_next", starts, self.next.pops),
            ("push_prev", ends, self.prev.pushes),
            ("push_next", ends, self.next.pushes),
        ):
            wanted = [
                time
                for time, instruction in zip(times, self.program, strict=True)
                if getattr(instruction.tokens, name)
            ]
            assert found == wanted, name
            assert [time for event, time in self.status.events if event == name] == wanted


ADD_ONE = Alu(
    op=AluOp.ADD,
    use_imm=True,
    imm=1,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=1,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
)
LOAD_UOPS = Load(memory=MemoryId.UOP, sram_base=0, dram_base=0, y_size=1, x_size=4, x_stride=4)


def small_stand(
    program: Sequence[Instruction], uops: list[MicroOp], config: HardwareConfig, **options: Any
) -> Stand:
    """A program over these micro-ops, which it loads first; INP, WGT and PAR hold anything."""
    rng = random.Random(0)
    image = np.zeros(MEMORY_BYTES, np.uint8)
    packed = np.frombuffer(pack_uops(config, uops), np.uint8)
    image[BASES[MemoryId.UOP] :][: len(packed)] = packed
    machine = PlainCompute(config, BASES, np.random.default_rng(0))
    return Stand(config, [LOAD_UOPS, *program], image, machine, rng, **options)

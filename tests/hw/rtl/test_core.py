"""Everything behind the registers: programs, and what may be wrong with them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.faults import Fault
from hw.isa import Assembler, Loop, MemoryId, Program, Unit
from hw.rtl.core import Core
from hw.rtl.layouts import NO_INSTRUCTION
from tests.support.programs import random_program
from tests.support.reference import run_in_order
from tests.support.rtl import Agent, Context, StatusLog, Watch, cycle, cycles, seeds, simulate
from tests.support.rtl_accelerator import physical
from tests.support.rtl_bus import AxiReadMemory, AxiWriteMemory

TINY = load_config("tiny")
UOP_BASE, INP_BASE, WGT_BASE, ACC_BASE, OUT_BASE = 0x000, 0x100, 0x200, 0x300, 0x800
IMAGE = bytes(range(256)) * 16


class Stand:
    """A core with its memory."""

    def __init__(
        self,
        program: Program,
        image: bytes,
        rng: random.Random,
        *,
        read: dict[str, Any] | None = None,
        write: dict[str, Any] | None = None,
    ) -> None:
        config = program.config
        self.program = program
        self.core = Core(config)
        self.content, self.address = physical(image, program)
        self.reads = AxiReadMemory(config, self.core.axi, self.content, rng, **(read or {}))
        self.writes = AxiWriteMemory(config, self.core.axi, self.content, rng, **(write or {}))
        self.logs = {unit: StatusLog(getattr(self.core, unit.name.lower())) for unit in Unit}
        self.faults: list[tuple[Fault, int]] = []
        self.agents: tuple[Agent, ...] = (
            self.reads,
            self.writes,
            *self.logs.values(),
            Watch(self.look),
        )

    def look(self, ctx: Context) -> None:
        fault = Fault(ctx.get(self.core.fault))
        if fault is not Fault.NONE:
            self.faults.append((fault, ctx.get(self.core.fault_index)))

    async def start(self, ctx: Context) -> None:
        """The first cycle."""
        core = self.core
        ctx.set(core.address, self.address)
        ctx.set(core.count, len(self.program))
        ctx.set(core.start, 1)
        await cycle(ctx, *self.agents)
        ctx.set(core.start, 0)

    async def finish(self, ctx: Context) -> None:
        """To completion."""
        await self.start(ctx)
        await cycles(
            ctx, *self.agents, until=lambda: bool(ctx.get(self.core.complete)), limit=30000
        )


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(
    "config", [TINY, TINY.replace(bus_bits=256, load_buffer=8)], ids=["tiny", "wide"]
)
def test_random_programs_under_stalls(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(seed)
    drawn = random_program(config, seed, 28)
    stand = Stand(
        drawn.program,
        drawn.image.tobytes(),
        rng,
        read={"chance": 0.6, "latency": range(1, 20), "pause": 0.3},
        write={"chances": (0.5, 0.6, 0.6), "latency": range(1, 20)},
    )

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        assert ctx.get(stand.core.bus_idle)
        assert not ctx.get(stand.core.tokens_left)
        assert stand.content[: len(drawn.expected)] == drawn.expected.tobytes()
        units = drawn.program.units()
        for unit, log in stand.logs.items():
            mine = [index for index, each in enumerate(units) if each == unit]
            assert [index for index, _ in log.ends] == mine
        assert stand.faults == []

    simulate(stand.core, bench)


def assembled() -> Assembler:
    """Every kind of access to memory: fetch, compute's loads, load's, and a store."""
    assembler = Assembler(TINY)
    assembler.load(MemoryId.UOP, sram=0, dram=UOP_BASE // 4, columns=2)
    assembler.load(MemoryId.INP, sram=0, dram=INP_BASE // 4, columns=4, signals=Unit.COMPUTE)
    assembler.load(MemoryId.ACC, sram=0, dram=ACC_BASE // 16, columns=2, waits_for=Unit.LOAD)
    assembler.gemm((0, 1), reset=True, signals=Unit.STORE)
    assembler.store(
        sram=0, dram=OUT_BASE // 4, columns=4, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE
    )
    assembler.finish(waits_for=Unit.STORE)
    return assembler


def run_to_fault(program: Program, image: bytes = IMAGE, **memory: Any) -> tuple[Fault, int]:
    """The first fault, and its instruction; the core is then halted until the bus is idle."""
    stand = Stand(program, image, random.Random(0), **memory)

    async def bench(ctx: Context) -> None:
        await stand.start(ctx)
        await cycles(ctx, *stand.agents, until=lambda: bool(stand.faults))
        ctx.set(stand.core.halt, 1)
        await cycles(ctx, *stand.agents, until=lambda: bool(ctx.get(stand.core.bus_idle)))
        bursts = len(stand.reads.bursts), len(stand.writes.bursts)
        await cycle(ctx, *stand.agents, count=20)
        assert (len(stand.reads.bursts), len(stand.writes.bursts)) == bursts

    simulate(stand.core, bench)
    return stand.faults[0]


@pytest.mark.parametrize(
    ("address", "instruction"),
    [(len(IMAGE) + 16, NO_INSTRUCTION), (INP_BASE + 8, 1), (ACC_BASE + 24, 2), (UOP_BASE, 0)],
    ids=["fetch", "load", "accumulators", "micro-ops"],
)
def test_a_refused_read_is_told_with_its_instruction(address: int, instruction: int) -> None:
    program = assembled().build()
    fault = run_to_fault(program, read={"refused": frozenset({address})})
    assert fault == (Fault.BUS_READ, instruction)


def test_a_refused_write_is_told_with_its_instruction() -> None:
    fault = run_to_fault(assembled().build(), write={"refused": frozenset({OUT_BASE + 8})})
    assert fault == (Fault.BUS_WRITE, 4)


def test_faults_of_instructions() -> None:
    assembler = assembled()
    assembler.finish()
    assert run_to_fault(assembler.build()) == (Fault.AFTER_FINISH, 6)
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD)
    assert run_to_fault(assembler.build()) == (Fault.NO_FINISH, NO_INSTRUCTION)
    assembler = Assembler(TINY)
    assembler.load(MemoryId.ACC, sram=TINY.depth(MemoryId.ACC), dram=0, columns=1)
    assembler.finish()
    assert run_to_fault(assembler.build()) == (Fault.SRAM_RANGE, 0)


def test_an_index_beyond_its_memory() -> None:
    assembler = Assembler(TINY)
    # Bytes 252..255: all bits of the micro-op's indices are high, and one factor adds to them.
    assembler.load(MemoryId.UOP, sram=0, dram=63, columns=1)
    assembler.gemm((0, 1), [Loop(2, dst=TINY.depth(MemoryId.ACC) - 1)], reset=True)
    assembler.finish()
    assert run_to_fault(assembler.build()) == (Fault.SRAM_INDEX, 1)


def test_complete_waits_for_every_unit() -> None:
    """FINISH waits for no token: the LOAD and the STORE before it take longer than it does."""
    assembler = Assembler(TINY)
    assembler.load(MemoryId.INP, sram=0, dram=0, columns=32)
    assembler.store(sram=0, dram=OUT_BASE // 4, columns=2)
    assembler.finish()
    stand = Stand(
        assembler.build(),
        IMAGE,
        random.Random(0),
        read={"latency": range(30, 31)},
        write={"latency": range(200, 201)},
    )

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        assert len(stand.writes.answered) == 1
        assert stand.writes.answered[0] == stand.reads.now - 1
        assert [len(log.ends) for log in stand.logs.values()] == [1, 1, 1]

    simulate(stand.core, bench)


def test_padding_clears_every_bank() -> None:
    """An element of INP or WGT that was written before, and of which a beat is a part only."""
    config = TINY.replace(log_block_in=4, log_inp_buffer=9, log_wgt_buffer=10)
    image = bytearray(random.Random(1).randbytes(4096))
    image[:4] = bytes(4)
    assembler = Assembler(config)
    assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    for memory in (MemoryId.WGT, MemoryId.INP):
        assembler.load(memory, sram=0, dram=8, columns=4)
    # Element 0 becomes zero, the next one keeps the product from being zero by chance.
    assembler.load(MemoryId.WGT, sram=0, dram=2, columns=1, pad=(0, 0, 1, 0))
    assembler.load(MemoryId.INP, sram=2, dram=2, columns=1, pad=(0, 0, 1, 0), signals=Unit.COMPUTE)
    assembler.gemm((0, 1), [Loop(4, dst=1, src=1)], reset=True)
    assembler.gemm((0, 1), [Loop(4, dst=1, src=1)], waits_for=Unit.LOAD)
    assembler.gemm((0, 1), [Loop(4, dst=1, src=1, wgt=1)], signals=Unit.STORE)
    assembler.store(
        sram=0, dram=OUT_BASE // 4, columns=4, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE
    )
    assembler.finish(waits_for=Unit.STORE)
    program = assembler.build()
    expected = run_in_order(program, np.frombuffer(image, np.uint8))
    stand = Stand(program, bytes(image), random.Random(0))

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        assert stand.content[: len(expected)] == expected.tobytes()

    simulate(stand.core, bench)


def test_tokens_that_are_left_are_told() -> None:
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, signals=Unit.COMPUTE)
    assembler.finish()
    stand = Stand(assembler.build(), IMAGE, random.Random(0))

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        assert ctx.get(stand.core.tokens_left)

    simulate(stand.core, bench)


def test_stuck() -> None:
    """Compute waits for load, load for compute."""
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    assembler.nop(Unit.COMPUTE, waits_for=Unit.LOAD, signals=Unit.LOAD)
    assembler.finish()
    stand = Stand(assembler.build(), IMAGE, random.Random(0))

    async def bench(ctx: Context) -> None:
        await stand.start(ctx)
        await cycles(ctx, *stand.agents, until=lambda: bool(ctx.get(stand.core.stuck)))
        await cycle(ctx, *stand.agents, count=20)
        assert ctx.get(stand.core.stuck)
        assert not ctx.get(stand.core.complete)
        assert ctx.get(stand.core.load.waits) == 0b10
        assert ctx.get(stand.core.compute.waits) == 0b01
        assert stand.logs[Unit.LOAD].states[-1] == "token"

    simulate(stand.core, bench)


def test_never_stuck_while_something_can_come() -> None:
    """Not in any cycle of a program that hands a token round and round."""
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, signals=Unit.COMPUTE)
    for _ in range(12):
        assembler.nop(Unit.COMPUTE, waits_for=Unit.LOAD, signals=Unit.STORE)
        assembler.nop(Unit.STORE, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
        assembler.nop(Unit.COMPUTE, waits_for=Unit.STORE, signals=Unit.LOAD)
        assembler.nop(Unit.LOAD, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    assembler.finish(waits_for=Unit.LOAD)
    stand = Stand(
        assembler.build(), IMAGE, random.Random(0), read={"latency": range(30, 60), "pause": 0.5}
    )
    stuck = []

    def look(ctx: Context) -> None:
        stuck.append(ctx.get(stand.core.stuck))

    async def bench(ctx: Context) -> None:
        stand.agents = (*stand.agents, Watch(look))
        await stand.finish(ctx)
        # In the cycle of the start dispatch does not know the program yet.
        assert sum(stuck[1:]) == 0

    simulate(stand.core, bench)


PUSHES = [
    (Unit.LOAD, Unit.COMPUTE),
    (Unit.COMPUTE, Unit.LOAD),
    (Unit.COMPUTE, Unit.STORE),
    (Unit.STORE, Unit.COMPUTE),
]


@pytest.mark.parametrize(("producer", "consumer"), PUSHES)
def test_token_overflow_is_told_with_the_instruction_that_pushed(
    producer: Unit, consumer: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With counters of 3 bits: at full width it would take 65536 instructions."""
    monkeypatch.setattr("hw.rtl.tokens.TOKEN_BITS", 3)
    assembler = Assembler(TINY)
    for _ in range(8):
        assembler.nop(Unit.LOAD)
        assembler.nop(producer, signals=consumer)
    assembler.finish()
    assert run_to_fault(assembler.build()) == (Fault.TOKEN_OVERFLOW, 15)

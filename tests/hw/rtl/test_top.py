"""The whole accelerator, driven through its registers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.events import RUNNING_BIT
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, MemoryId, MicroOp, Unit, pack_uops
from tandem.hw.registers import MAGIC, NO_INSTRUCTION, VERSION, Control, State, Status, register_map
from tests.support.hw.rtl.rtl import Context, Watch, seeds
from tests.support.hw.rtl.rtl_accelerator import Machine, physical
from tests.support.sim.programs import random_program

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
STALLS: dict[str, dict[str, Any]] = {
    "read": {"chance": 0.7, "latency": range(1, 16), "pause": 0.2},
    "write": {"chances": (0.6, 0.7, 0.7), "latency": range(1, 16)},
}


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        TINY.replace(log_batch=1, bus_bits=256, address_bits=40, longest_burst=16),
        TINY.replace(features=frozenset(Feature), log_par_buffer=9),
    ],
    ids=["tiny", "wide", "extended"],
)
def test_registers_tell_what_the_machine_is(config: HardwareConfig) -> None:
    machine = Machine(config, bytearray(4096), random.Random(0))

    async def bench(ctx: Context) -> None:
        assert await machine.get(ctx, "magic") == MAGIC
        assert await machine.get(ctx, "version") == VERSION
        shape = await machine.get(ctx, "shape")
        assert list(shape.to_bytes(4, "little")) == [config.log_batch, 2, 2, 0]
        buffers = await machine.get(ctx, "buffers")
        assert list(buffers.to_bytes(4, "little")) == [8, 7, 8, 9]
        bus = await machine.get(ctx, "bus")
        assert bus & 0xFFFF == config.bus_bits
        assert bus >> 16 & 0xFF == config.address_bits
        assert bus >> 24 == config.longest_burst - 1
        features = sum(1 << feature.bit for feature in config.features)
        assert await machine.get(ctx, "features") == features
        if MemoryId.PAR in config.memories:
            assert await machine.get(ctx, "par_buffer") == 9
        assert await machine.get(ctx, "status") == 0

    config_buffers = (config.log_uop_buffer, config.log_inp_buffer)
    assert config_buffers == (8, 7)
    machine.run(bench)


def test_a_random_program_twice() -> None:
    """The second launch finds nothing of the first, and the interrupt tells the end of both."""
    drawn = random_program(TINY, 5, 30)
    content, address = physical(drawn.image.tobytes(), drawn.program)
    machine = Machine(TINY, content, random.Random(1))

    async def bench(ctx: Context) -> None:
        found = []
        for _ in range(2):
            machine.content[: len(drawn.image)] = drawn.image.tobytes()
            await machine.launch(ctx, address, len(drawn.program))
            assert Status(await machine.get(ctx, "status")) & Status.RUNNING
            assert await machine.wait(ctx) == Status.DONE
            assert machine.content[: len(drawn.expected)] == drawn.expected.tobytes()
            found.append(await machine.get(ctx, "cycles"))
            for unit in Unit:
                states = [
                    await machine.get(ctx, f"{unit.name.lower()}_{state.value}") for state in State
                ]
                assert 0 < sum(states) <= found[-1]
        # Memory answers alike, so that the time is the same.
        assert found[0] == found[1]

    machine.run(bench)


@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in seeds(8)[1:])]
)
def test_soft_reset_at_any_time_leaves_a_machine_that_works(seed: int) -> None:
    rng = random.Random(f"bus {seed}")
    drawn = random_program(TINY, seed, 24)
    content, address = physical(drawn.image.tobytes(), drawn.program)
    machine = Machine(TINY, content, rng, **STALLS)

    async def bench(ctx: Context) -> None:
        for _ in range(3):
            await machine.launch(ctx, address, len(drawn.program))
            for _ in range(rng.randrange(800)):
                await ctx.tick()
            await machine.soft_reset(ctx)
            await machine.put(ctx, "irq_status", 0b11)
        machine.content[: len(drawn.image)] = drawn.image.tobytes()
        await machine.launch(ctx, address, len(drawn.program))
        assert await machine.wait(ctx) == Status.DONE
        assert machine.content[: len(drawn.expected)] == drawn.expected.tobytes()

    machine.run(bench)


def stuck_program() -> Assembler:
    """Load waits for compute, and compute for a store that never comes."""
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
    assembler.nop(Unit.COMPUTE)
    assembler.nop(Unit.COMPUTE, waits_for=Unit.STORE, signals=Unit.LOAD)
    assembler.finish()
    return assembler


def test_a_deadlock_tells_who_waits_for_what_and_a_launch_ends_it() -> None:
    program = stuck_program().build()
    content, address = physical(bytes(4096), program)
    good = Assembler(TINY)
    good.finish()
    finish = good.build()
    content[:16] = finish.data
    machine = Machine(TINY, content, random.Random(2))

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, address, len(program))
        assert await machine.wait(ctx) == Status.ERROR
        assert await machine.get(ctx, "error_code") == Fault.DEADLOCK
        assert await machine.get(ctx, "error_instruction") == NO_INSTRUCTION
        assert await machine.get(ctx, "load_waits") == 1 << 8 | 0b10
        assert await machine.get(ctx, "load_instruction") == 0
        assert await machine.get(ctx, "compute_waits") == 1 << 8 | 0b10
        assert await machine.get(ctx, "compute_instruction") == 2
        assert await machine.get(ctx, "store_waits") == 0
        assert await machine.get(ctx, "store_instruction") == NO_INSTRUCTION
        await machine.launch(ctx, 0, len(finish))
        assert await machine.wait(ctx) == Status.DONE
        assert await machine.get(ctx, "error_code") == Fault.NONE

    machine.run(bench)


def test_status_is_running_from_the_launch_to_the_end() -> None:
    """Whoever reads it in any cycle: between two runs it is never neither running nor done."""
    assembler = Assembler(TINY)
    assembler.finish()
    program = assembler.build()
    content, address = physical(bytes(4096), program)
    machine = Machine(TINY, content, random.Random(3))
    bus = machine.block.s_axi
    statuses: list[int] = []

    def look(ctx: Context) -> None:
        if ctx.get(bus.rvalid):
            statuses.append(int(ctx.get(bus.rdata)))

    machine.watched.append(Watch(look))

    async def bench(ctx: Context) -> None:
        await machine.put(ctx, "instruction_address", address)
        await machine.put(ctx, "instruction_count", len(program))
        ctx.set(bus.araddr, next(each.offset for each in register_map() if each.name == "status"))
        # Read without a pause, and launch at any time.
        ctx.set(bus.arvalid, 1)
        ctx.set(bus.rready, 1)
        for number in range(20):
            await machine.put(ctx, "control", Control.LAUNCH)
            for _ in range(60 + number % 7):
                await ctx.tick()

    machine.run(bench)
    changes = [
        Status(status)
        for place, status in enumerate(statuses)
        if not place or status != statuses[place - 1]
    ]
    assert changes == [Status(0), *[Status.RUNNING, Status.DONE] * 20]


def test_an_empty_program() -> None:
    machine = Machine(TINY, bytearray(4096), random.Random(3))

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, 0, 0)
        assert await machine.wait(ctx) == Status.ERROR
        assert await machine.get(ctx, "error_code") == Fault.NO_FINISH
        assert await machine.get(ctx, "error_instruction") == NO_INSTRUCTION
        assert machine.reads.bursts == []

    machine.run(bench)


def test_an_error_drains_the_bus_before_it_is_told() -> None:
    """A shift by an accumulator of 255, while a long LOAD is under way."""
    image = bytearray(4096)
    image[:4] = pack_uops(TINY, [MicroOp(0, 0, 0)])
    image[16:32] = np.full(4, 255, np.int32).tobytes()
    assembler = Assembler(TINY)
    assembler.load(MemoryId.INP, sram=0, dram=0, columns=32)
    assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    assembler.load(MemoryId.ACC, sram=0, dram=1, columns=1)
    shift = assembler.alu(AluOp.SHR, (0, 1))
    assembler.load(MemoryId.WGT, sram=0, dram=0, rows=16, columns=1, stride=9)
    assembler.finish()
    program = assembler.build()
    content, address = physical(image, program)
    machine = Machine(TINY, content, random.Random(4), read={"latency": range(40, 41)})

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, address, len(program))
        assert await machine.wait(ctx) == Status.ERROR
        assert machine.reads.open == 0
        assert await machine.get(ctx, "error_code") == Fault.SHIFT
        assert await machine.get(ctx, "error_instruction") == shift
        bursts = len(machine.reads.bursts)
        for _ in range(50):
            await ctx.tick()
        assert len(machine.reads.bursts) == bursts

    machine.run(bench)


@pytest.mark.parametrize("reset", [False, True], ids=["launch", "soft_reset"])
def test_a_stopped_core_does_nothing_until_the_next_run(reset: bool) -> None:
    """Instructions wait in the queues of compute and store when the core stops."""
    image = bytearray(4096)
    image[:4] = pack_uops(TINY, [MicroOp(0, 0, 0)])
    image[16:32] = np.full(4, 255, np.int32).tobytes()
    assembler = Assembler(TINY)
    assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    assembler.load(MemoryId.ACC, sram=0, dram=1, columns=1)
    assembler.alu(AluOp.SHR, (0, 1))
    for _ in range(4):
        assembler.nop(Unit.COMPUTE)
    for _ in range(3):
        assembler.store(sram=0, dram=512, columns=1)
    assembler.finish()
    program = assembler.build()
    content, address = physical(image, program)
    good = Assembler(TINY)
    good.finish()
    content[:16] = good.build().data
    machine = Machine(TINY, content, random.Random(4), write={"latency": range(90, 91)})
    events: list[int] = []

    def look(ctx: Context) -> None:
        events.append(ctx.get(machine.block.events))

    machine.watched.append(Watch(look))

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, address, len(program))
        assert await machine.wait(ctx) == Status.ERROR
        assert await machine.get(ctx, "error_code") == Fault.SHIFT
        assert await machine.get(ctx, "compute_waits") == 1 << 8
        assert await machine.get(ctx, "store_waits") == 1 << 8
        events.clear()
        if reset:
            await machine.put(ctx, "control", Control.SOFT_RESET)
            for _ in range(20):
                await ctx.tick()
        await machine.launch(ctx, 0, 1)
        assert await machine.wait(ctx) == Status.DONE

    machine.run(bench)
    running = 1 << RUNNING_BIT
    assert not [bits for bits in events if bits and not bits & running]
    # FINISH is fetched, dispatched, started and ended.
    assert sum((bits & ~running).bit_count() for bits in events) == 4


def test_base_registers_are_added() -> None:
    image = np.zeros(8192, np.uint8)
    image[0x100:0x104] = np.frombuffer(pack_uops(TINY, [MicroOp(0, 0, 0)]), np.uint8)
    image[0x200:0x210] = np.array([1, -2, 300, -400], np.int32).view(np.uint8)
    image[0x304:0x308] = np.array([5, -6, 7, -8], np.int8).view(np.uint8)
    assembler = Assembler(TINY)
    assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    assembler.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    assembler.load(MemoryId.ACC_8BIT, sram=1, dram=1, columns=1)
    assembler.alu(AluOp.ADD, (0, 1), imm=3, signals=Unit.STORE)
    assembler.store(sram=0, dram=1, columns=2, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    assembler.finish(waits_for=Unit.STORE)
    program = assembler.build()
    content, address = physical(image.tobytes(), program)
    machine = Machine(TINY, content, random.Random(5))
    bases = {"uop": 0x100, "acc": 0x200, "acc_8bit": 0x300, "out": 0x1FF8}

    async def bench(ctx: Context) -> None:
        for name, base in bases.items():
            await machine.put(ctx, f"base_{name}", base)
        await machine.launch(ctx, address, len(program))
        assert await machine.wait(ctx) == Status.DONE
        image[0x1FFC:0x2000] = np.array([4, 1, 303, -397]).astype(np.uint8)
        assert machine.content[: len(image)] == image.tobytes()
        # The second element lies beyond the image, in the next page.
        assert machine.content[0x2000:0x2004] == bytes([5, 250, 7, 248])

    machine.run(bench)


def test_a_snapshot_shows_counters_that_run() -> None:
    program = stuck_program().build()
    content, address = physical(bytes(4096), program)
    # Memory takes its time: the machine runs while the registers are read.
    machine = Machine(TINY, content, random.Random(6), read={"latency": range(400, 401)})

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, address, len(program))
        assert await machine.get(ctx, "cycles") == 0
        await machine.put(ctx, "control", Control.SNAPSHOT)
        first = await machine.get(ctx, "cycles")
        assert first > 0
        assert await machine.get(ctx, "cycles") == first
        await machine.put(ctx, "control", Control.SNAPSHOT)
        assert await machine.get(ctx, "cycles") > first
        await machine.wait(ctx)
        assert await machine.get(ctx, "cycles") > 400

    machine.run(bench)


def test_the_interrupt_is_enabled_cause_by_cause() -> None:
    assembler = Assembler(TINY)
    assembler.finish()
    program = assembler.build()
    content, address = physical(bytes(4096), program)
    machine = Machine(TINY, content, random.Random(7))

    async def bench(ctx: Context) -> None:
        await machine.put(ctx, "instruction_address", address)
        await machine.put(ctx, "instruction_count", 1)
        await machine.put(ctx, "irq_enable", 0b10)
        await machine.put(ctx, "control", Control.LAUNCH)
        for _ in range(60):
            await ctx.tick()
            assert not ctx.get(machine.block.irq)
        assert await machine.get(ctx, "status") == Status.DONE
        assert await machine.get(ctx, "irq_status") == 0b01
        await machine.put(ctx, "irq_enable", 0b01)
        assert ctx.get(machine.block.irq)
        await machine.put(ctx, "irq_status", 0b10)
        assert ctx.get(machine.block.irq)
        await machine.put(ctx, "irq_status", 0b01)
        assert not ctx.get(machine.block.irq)

    machine.run(bench)


def test_events_are_those_of_the_units() -> None:
    """Three instructions that only carry tokens, and a FINISH."""
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, signals=Unit.COMPUTE)
    assembler.nop(Unit.COMPUTE, waits_for=Unit.LOAD, signals=Unit.STORE)
    assembler.nop(Unit.STORE, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    assembler.finish(waits_for=Unit.STORE)
    program = assembler.build()
    content, address = physical(bytes(4096), program)
    machine = Machine(TINY, content, random.Random(8))
    names = ("start", "end", "pop_prev", "pop_next", "push_prev", "push_next")
    seen: list[tuple[Unit, str]] = []
    fetch: list[str] = []
    running: list[int] = []

    def look(ctx: Context) -> None:
        events = ctx.get(machine.block.events)
        above = events >> len(names) * len(Unit)
        fetch.extend(
            name for place, name in enumerate(("fetched", "dispatched")) if above >> place & 1
        )
        for unit in Unit:
            for place, name in enumerate(names):
                if events >> (len(names) * unit + place) & 1:
                    seen.append((unit, name))
        running.append(events >> RUNNING_BIT)

    machine.watched.append(Watch(look))

    async def bench(ctx: Context) -> None:
        await machine.launch(ctx, address, len(program))
        assert await machine.wait(ctx) == Status.DONE
        cycles = await machine.get(ctx, "cycles")
        assert sum(running) == cycles

    machine.run(bench)
    assert fetch == ["fetched", "dispatched"] * 4
    load, compute, store = Unit
    assert seen == [
        (load, "start"),
        *((load, name) for name in ("end", "push_next")),
        *((compute, name) for name in ("start", "pop_prev")),
        *((compute, name) for name in ("end", "push_next")),
        *((store, name) for name in ("start", "pop_prev")),
        *((store, name) for name in ("end", "push_prev")),
        *((compute, name) for name in ("start", "pop_next")),
        (compute, "end"),
    ]

"""Everything behind the registers: programs, and what may be wrong with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.isa.assembler import Units
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.timing import out_delay
from tests.support.hw.rtl.core_stand import Stand
from tests.support.hw.rtl.rtl import Context, Watch, built, cycle, cycles, seeds, simulate
from tests.support.sim.programs import random_program
from tests.support.sim.reference import run_in_order

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
UOP_BASE, INP_BASE, WGT_BASE, ACC_BASE, OUT_BASE = 0x000, 0x100, 0x200, 0x300, 0x800
IMAGE = bytes(range(256)) * 16


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(
    "config", [TINY, TINY.replace(bus_bits=256, load_buffer=8)], ids=["tiny", "wide"]
)
def test_random_programs_under_stalls(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(f"bus {seed}")
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
        assert ctx.get(stand.bus.core.idle)
        assert not ctx.get(stand.core.tokens_left)
        assert stand.content[: len(drawn.expected)] == drawn.expected.tobytes()
        units = drawn.program.units()
        for unit, log in stand.logs.items():
            mine = [index for index, each in enumerate(units) if each == unit]
            assert [index for index, _ in log.ends] == mine
        assert stand.faults == []

    simulate(stand.design, bench)


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
        await cycles(ctx, *stand.agents, until=lambda: bool(ctx.get(stand.bus.core.idle)))
        bursts = len(stand.reads.bursts), len(stand.writes.bursts)
        await cycle(ctx, *stand.agents, count=20)
        assert (len(stand.reads.bursts), len(stand.writes.bursts)) == bursts

    simulate(stand.design, bench)
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
        # The order is done a cycle after its acknowledgement, and then everything is.
        assert stand.writes.answered[0] == stand.reads.now - 3
        assert [len(log.ends) for log in stand.logs.values()] == [1, 1, 1]

    simulate(stand.design, bench)


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

    simulate(stand.design, bench)


class LastWrites:
    """A program of LOADs, each followed at once by an instruction that reads its last element.

    Attributes
    ----------
    image
        Memory before the program.
    pairs
        The numbers of each LOAD and its reader.
    """

    OUT = 0x4000
    ELEMENTS = 8
    COLUMNS = 4

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self.image = np.frombuffer(random.Random(5).randbytes(0x8000), np.uint8).copy()
        # Micro-op 0 uses element 3 of every memory, the last that the LOADs write. Micro-op 3 is
        # the last one itself: other elements before the LOAD than after.
        every = MicroOp(3, 3, 3)
        for first, last in ((0, MicroOp(6, 1, 2)), (self.ELEMENTS, MicroOp(7, 2, 1))):
            uops = np.frombuffer(pack_uops(config, [every, every, every, last]), np.uint8)
            self.image[4 * first : 4 * first + len(uops)] = uops
        self.assembler = Assembler(config)
        self.pairs: list[tuple[int, int]] = []

    def dram(self, memory: MemoryId, *, new: bool) -> int:
        """Number of the element of `memory` that the data before, or after, begins with."""
        return (0x400 * memory) // self.config.element_bytes(memory) + self.ELEMENTS * new

    def before(self, first: bool) -> None:
        """Load something else to everything; compute waits for it."""
        waits_for = () if first else Unit.COMPUTE
        for memory in (MemoryId.INP, MemoryId.WGT):
            self.assembler.load(
                memory,
                sram=0,
                dram=self.dram(memory, new=False),
                columns=self.COLUMNS,
                waits_for=waits_for if memory is MemoryId.INP else (),
                signals=Unit.COMPUTE if memory is MemoryId.WGT else (),
            )
        self.assembler.load(MemoryId.UOP, sram=0, dram=0, columns=4, waits_for=Unit.LOAD)
        dram = self.dram(MemoryId.ACC, new=False)
        self.assembler.load(MemoryId.ACC, sram=0, dram=dram, columns=self.ELEMENTS)

    def add(self, memory: MemoryId, reader: str, padded: bool) -> None:
        """A LOAD of `memory` whose last element is data or padding, and its reader."""
        assembler = self.assembler
        self.before(first=not self.pairs)
        waits_for: Units = ()
        signals: Units = ()
        if memory in (MemoryId.INP, MemoryId.WGT):
            assembler.nop(Unit.COMPUTE, signals=Unit.LOAD)
            waits_for, signals = Unit.COMPUTE, Unit.COMPUTE
        load = assembler.load(
            memory,
            sram=0,
            dram=self.dram(memory, new=True),
            columns=self.COLUMNS - padded,
            pad=(0, 0, 0, int(padded)),
            waits_for=waits_for,
            signals=Unit.STORE if reader == "store" else signals,
        )
        out = self.OUT // self.config.element_bytes(MemoryId.OUT)
        out += len(self.pairs) * (self.ELEMENTS + 1)
        uops = (3, 4) if memory is MemoryId.UOP else (0, 1)
        waits_for = Unit.LOAD if signals else ()
        match reader:
            case "gemm":
                reads = assembler.gemm(uops, waits_for=waits_for, signals=Unit.STORE)
            case "alu":
                reads = assembler.alu(AluOp.ADD, uops, signals=Unit.STORE)
            case "shift":
                reads = assembler.alu(AluOp.SHR, uops, imm=1, signals=Unit.STORE)
            case _:
                reads = assembler.store(sram=3, dram=out, columns=1, waits_for=Unit.COMPUTE)
        self.pairs.append((load, reads))
        assembler.store(
            sram=0,
            dram=out + 1,
            columns=self.ELEMENTS,
            waits_for=Unit.COMPUTE if reader != "store" else (),
            signals=Unit.COMPUTE,
        )
        assembler.nop(Unit.COMPUTE, waits_for=Unit.STORE, signals=Unit.LOAD)

    def build(self) -> Program:
        """Every memory, every reader of it, data and padding."""
        for padded in (False, True):
            for memory in (MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT):
                for reader in ("gemm", "alu", "shift"):
                    self.add(memory, reader, padded)
            for memory in (MemoryId.ACC, MemoryId.ACC_8BIT):
                self.add(memory, "store", padded)
            for memory in (MemoryId.INP, MemoryId.WGT):
                self.add(memory, "gemm", padded)
        self.assembler.nop(Unit.LOAD, waits_for=Unit.COMPUTE)
        self.assembler.finish()
        return self.assembler.build()


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "config",
    [
        TINY,
        pytest.param(TINY.replace(acc_read_ports=1), marks=pytest.mark.exhaustive),
        TINY.replace(bus_bits=256, load_buffer=8),
        pytest.param(
            TINY.replace(log_block_in=4, log_inp_buffer=9, log_wgt_buffer=10),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(TINY.replace(features=frozenset(Feature)), marks=pytest.mark.exhaustive),
    ],
    ids=["tiny", "one_read_port", "many_elements_a_beat", "many_beats_an_element", "extended"],
)
def test_the_last_write_of_a_load_is_there_for_the_next_instruction(
    config: HardwareConfig,
) -> None:
    """Which starts in the cycle after the LOAD's end, in the cycle of the write itself."""
    programs = LastWrites(config)
    program = programs.build()
    expected = run_in_order(program, programs.image)
    stand = Stand(
        program,
        programs.image.tobytes(),
        random.Random(0),
        read={"latency": range(1, 2)},
        write={"latency": range(1, 2)},
    )

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        units = program.units()
        starts = {
            index: time
            for unit, log in stand.logs.items()
            for index, time in zip(np.flatnonzero(units == unit).tolist(), log.starts, strict=True)
        }
        ends = dict(end for log in stand.logs.values() for end in log.ends)
        compute = np.flatnonzero(units == Unit.COMPUTE)
        for load, reader in programs.pairs:
            # The LOAD has written ACC, but not OUT: that is no business of the next in compute.
            early = out_delay(config) if {load, reader} <= set(compute.tolist()) else 0
            found_start = starts[reader] + early
            assert found_start == ends[load] + 1, f"instructions {load} and {reader}"
        found = np.frombuffer(stand.content, np.uint8)[: len(expected)]
        size = config.element_bytes(MemoryId.OUT) * (programs.ELEMENTS + 1)
        for number, pair in enumerate(programs.pairs):
            mine = slice(programs.OUT + number * size, programs.OUT + (number + 1) * size)
            assert found[mine].tolist() == expected[mine].tolist(), f"instructions {pair}"
        assert found.tolist() == expected.tolist()
        assert stand.faults == []

    simulate(stand.design, bench)


def test_tokens_that_are_left_are_told() -> None:
    assembler = Assembler(TINY)
    assembler.nop(Unit.LOAD, signals=Unit.COMPUTE)
    assembler.finish()
    stand = Stand(assembler.build(), IMAGE, random.Random(0))

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        assert ctx.get(stand.core.tokens_left)

    simulate(stand.design, bench)


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

    simulate(stand.design, bench)


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
        # In the cycle of the start dispatch does not know the program yet; two cycles later it
        # shows.
        assert sum(stuck[3:]) == 0

    simulate(stand.design, bench)


PUSHES = [
    (Unit.LOAD, Unit.COMPUTE),
    (Unit.COMPUTE, Unit.LOAD),
    (Unit.COMPUTE, Unit.STORE),
    (Unit.STORE, Unit.COMPUTE),
]


@pytest.fixture
def short_counters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Token counters of 3 bits, in blocks of this test alone."""
    built.cache_clear()
    monkeypatch.setattr("tandem.hw.rtl.tokens.TOKEN_BITS", 3)
    yield
    built.cache_clear()


@pytest.mark.usefixtures("short_counters")
@pytest.mark.parametrize(("producer", "consumer"), PUSHES)
def test_token_overflow_is_told_with_the_instruction_that_pushed(
    producer: Unit, consumer: Unit
) -> None:
    """With counters of 3 bits: at full width it would take 65536 instructions."""
    assembler = Assembler(TINY)
    for _ in range(8):
        assembler.nop(Unit.LOAD)
        assembler.nop(producer, signals=consumer)
    assembler.finish()
    assert run_to_fault(assembler.build()) == (Fault.TOKEN_OVERFLOW, 15)

"""High bits: addresses, immediates and counts that short programs in a small memory do not use. On
the compiled engine; memory that nobody touches costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tandem.hw.config import PAGE_BYTES, PARAMETER_BYTES, HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.topology import BASE_REGISTERS, BASED
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Bytes, Launch
from tandem.sim.functional import FunctionalEngine
from tandem.sim.memory import place_program
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.launching import launch

TINY = load_config("tiny")
CONFIGS = [TINY, *map(load_config, ("small8", "tiny-x", "tiny-w"))]
UOPS, DATA, RESULT, PARAMETERS = 0x1000, 0x200, 0x400, 0xC00
IMAGE = 1 << 14
NO_BASES = (0,) * BASE_REGISTERS
BITS = range(6, 32)
"""Of addresses: from the largest element's size up."""


@pytest.fixture
def engine() -> Iterator[RtlEngine]:
    made = RtlEngine(TINY)
    yield made
    made.close()


def image_with(*micro_ops: MicroOp, config: HardwareConfig = TINY) -> Bytes:
    """Random bytes, with micro-ops at UOPS, and parameters that take the highest byte of a result;
    micro-op 0 is the same in all configurations."""
    image = np.random.default_rng(0).integers(0, 256, IMAGE, dtype=np.uint8)
    words = np.frombuffer(pack_uops(config, micro_ops), dtype=np.uint8)
    image[UOPS : UOPS + len(words)] = words
    channels = image[PARAMETERS:][: config.block_out * PARAMETER_BYTES]
    channels.reshape(-1, PARAMETER_BYTES)[:, 4:7] = (1, 0, 24)
    return image


def every_memory(
    config: HardwareConfig, offset: int = 0, bases: Sequence[int] = NO_BASES
) -> Program:
    """Reads each kind of data once, and stores four accumulators.

    Data lie `offset` bytes on; the program counts from `bases`.
    """
    asm = Assembler(config)

    def index(memory: MemoryId, address: int) -> int:
        return (offset + address - bases[memory]) // config.element_bytes(memory)

    load, compute = Unit.LOAD, Unit.COMPUTE
    asm.load(MemoryId.INP, sram=0, dram=index(MemoryId.INP, DATA), columns=1)
    requantises = MemoryId.PAR in config.memories
    if requantises:
        asm.load(MemoryId.PAR, sram=0, dram=index(MemoryId.PAR, PARAMETERS), columns=1)
    asm.load(MemoryId.WGT, sram=0, dram=index(MemoryId.WGT, DATA), columns=1, signals=compute)
    asm.load(MemoryId.UOP, sram=0, dram=index(MemoryId.UOP, UOPS), columns=1)
    asm.load(MemoryId.ACC, sram=0, dram=index(MemoryId.ACC, DATA), columns=2)
    asm.load(MemoryId.ACC_8BIT, sram=2, dram=index(MemoryId.ACC_8BIT, DATA), columns=2)
    asm.gemm((0, 1), (), waits_for=load)
    asm.alu(AluOp.ADD, (0, 1), (Loop(4, dst=1),), imm=5)
    if requantises:
        asm.requantise(0)
        asm.alu(AluOp.ADD, (0, 1), (Loop(2, dst=1),), imm=5)
    asm.nop(compute, signals=Unit.STORE)
    out = index(MemoryId.OUT, RESULT)
    asm.store(sram=0, dram=out, columns=4, waits_for=compute, signals=compute)
    asm.finish(waits_for=Unit.STORE)
    return asm.build()


def stored(memory: Bytes, config: HardwareConfig, offset: int = 0) -> list[int]:
    """What the program left."""
    size = 4 * config.element_bytes(MemoryId.OUT)
    return memory[offset + RESULT :][:size].tolist()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_program_may_begin_anywhere(config: HardwareConfig) -> None:
    image, program, engine = image_with(MicroOp(0)), every_memory(config), RtlEngine(config)
    _, near = launch(FunctionalEngine(config), program, image)
    for bit in range(4, BITS.stop):
        memory, address = place_program(image, program, IMAGE + (1 << bit))
        engine.launch(program, memory, Launch(address=address, max_cycles=10_000))
        assert stored(memory, config) == stored(near, config), hex(address)
    engine.close()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_long_program_may_begin_anywhere_in_a_page(config: HardwareConfig) -> None:
    """Its pages end in the middle of what would be a burst; and fetch, which waits for other
    reads, has all its credits again."""
    image, engine = image_with(MicroOp(0)), RtlEngine(config)
    short = every_memory(config)
    _, near = launch(FunctionalEngine(config), short, image)
    asm = Assembler(config)
    for _ in range(8 * PAGE_BYTES // INSTRUCTION_BYTES):
        asm.load(MemoryId.INP, sram=0, dram=0, columns=3)
    program = Program.from_bytes(config, asm.build().data + short.data)
    for place in (1, 2, 3, 5, 6, 251, 253, 254, 255):
        start = IMAGE + INSTRUCTION_BYTES * place
        memory, address = place_program(image, program, start)
        engine.launch(program, memory, Launch(address=address, max_cycles=100_000))
        assert stored(memory, config) == stored(near, config), hex(start)
    engine.close()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_bases_are_as_fine_as_elements(config: HardwareConfig) -> None:
    image, engine = image_with(MicroOp(0)), RtlEngine(config)
    _, near = launch(FunctionalEngine(config), every_memory(config), image)
    for bit in range(BITS.start):
        base = 1 << bit
        bases = tuple(0 if base % config.element_bytes(memory) else base for memory in BASED)
        program = every_memory(config, bases=bases)
        _, after = launch(engine, program, image, bases=bases, max_cycles=10_000)
        assert stored(after, config) == stored(near, config), bases
    engine.close()


@pytest.mark.parametrize("by_base", [True, False], ids=["base", "dram_base"])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_data_may_lie_anywhere(config: HardwareConfig, by_base: bool) -> None:
    image, engine = image_with(MicroOp(0)), RtlEngine(config)
    _, near = launch(FunctionalEngine(config), every_memory(config), image)
    for bit in BITS:
        start = 1 << bit
        program = every_memory(config, 0 if by_base else start)
        memory = np.zeros(start + IMAGE + PAGE_BYTES, dtype=np.uint8)
        memory[start : start + IMAGE] = image
        bases = (start if by_base else 0,) * BASE_REGISTERS
        how = Launch(address=start + IMAGE, bases=bases, max_cycles=10_000)
        engine.launch(program, memory, how)
        assert stored(memory, config, start) == stored(near, config), hex(start)
    engine.close()


@pytest.mark.parametrize("by_base", [True, False], ids=["base", "dram_base"])
def test_addresses_begin_anew_beyond_the_last(engine: RtlEngine, by_base: bool) -> None:
    """On every engine: the machine drops the bits of an address that its bus does not have."""
    image = image_with(MicroOp(0))
    _, near = launch(FunctionalEngine(TINY), every_memory(TINY), image)
    beyond = 1 << TINY.address_bits
    program = every_memory(TINY, 0 if by_base else beyond)
    for machine in (FunctionalEngine(TINY), CycleEngine(TINY), engine):
        bases = (beyond if by_base else 0,) * BASE_REGISTERS
        _, after = launch(machine, program, image, bases=bases, max_cycles=10_000)
        assert stored(after, TINY) == stored(near, TINY), machine.name


def test_every_bit_of_an_immediate(engine: RtlEngine) -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=4)
    for element in range(4):
        # Whatever it held: 0 or -1, then 0.
        asm.alu(AluOp.SHR, (element, element + 1), imm=31)
        asm.alu(AluOp.MAX, (element, element + 1), imm=0)
    values = (0x5555, -0x5556)
    for element, value in enumerate((*values, *values)):
        asm.alu(AluOp.ADD, (element, element + 1), imm=value)
    for element in (2, 3):
        asm.alu(AluOp.SHR, (element, element + 1), imm=8)
    asm.nop(Unit.COMPUTE, signals=Unit.STORE)
    asm.store(sram=0, dram=RESULT // 4, columns=4, waits_for=Unit.COMPUTE)
    asm.finish()
    image = image_with(*(MicroOp(element) for element in range(4)))
    _, after = launch(engine, asm.build(), image, max_cycles=10_000)
    lows, highs = [value & 0xFF for value in values], [value >> 8 & 0xFF for value in values]
    expected = [byte for byte in (*lows, *highs) for _ in range(TINY.block_out)]
    assert after[RESULT : RESULT + 16].tolist() == expected


def store_every_byte(asm: Assembler, uop: int, count: int = 4) -> int:
    """Store the four bytes of the first `count` accumulators, of which micro-op `uop` names
    accumulator 0; returns how many bytes that are, from RESULT on."""
    size = asm.config.element_bytes(MemoryId.OUT)
    for part in range(4):
        asm.alu(
            AluOp.SHR,
            (uop, uop + 1),
            (Loop(count, dst=1),),
            imm=8 * min(part, 1),
            waits_for=() if part == 0 else Unit.STORE,
            signals=Unit.STORE,
        )
        out = RESULT // size + count * part
        asm.store(sram=0, dram=out, columns=count, waits_for=Unit.COMPUTE, signals=Unit.COMPUTE)
    asm.finish(waits_for=Unit.STORE)
    return 4 * count * size


def compare_results(asm: Assembler, image: Bytes, length: int) -> None:
    """The engines agree on the bytes from RESULT on."""
    engine, program = RtlEngine(asm.config), asm.build()
    _, wanted = launch(FunctionalEngine(asm.config), program, image)
    _, found = launch(engine, program, image, max_cycles=10_000)
    engine.close()
    result = slice(RESULT, RESULT + length)
    np.testing.assert_array_equal(found[result], wanted[result])
    assert len(np.unique(found[result])) > min(length // 4, 128)


@pytest.mark.parametrize("distance", range(1, 7))
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_a_forwarded_result(config: HardwareConfig, distance: int) -> None:
    """As the first operand, and as the second."""
    fillers = (MicroOp(1, 3),) * (distance - 1)
    first = (MicroOp(0, 3), *fillers, MicroOp(0, 3))
    second = (MicroOp(0, 3), *fillers, MicroOp(2, 0))
    asm, uops = Assembler(config), len(first)
    image = image_with(*first, *second, MicroOp(0), config=config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=2 * uops + 1)
    size = config.element_bytes(MemoryId.ACC)
    asm.load(MemoryId.ACC, sram=0, dram=DATA // size, columns=4)
    asm.alu(AluOp.ADD, (0, uops), imm=0x55)
    asm.alu(AluOp.ADD, (uops, 2 * uops))
    compare_results(asm, image, store_every_byte(asm, 2 * uops))


@pytest.mark.parametrize("op", [AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.MUL])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_an_operation(config: HardwareConfig, op: AluOp) -> None:
    asm, micro_ops = Assembler(config), [MicroOp(element, element + 4) for element in range(4)]
    image = image_with(*micro_ops, config=config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=4)
    size = config.element_bytes(MemoryId.ACC)
    asm.load(MemoryId.ACC, sram=0, dram=DATA // size, columns=8)
    asm.alu(op, (0, 4))
    compare_results(asm, image, store_every_byte(asm, 0))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_a_loop_s_steps(config: HardwareConfig) -> None:
    """Of every operand, in the outer and in the inner loop: the second iteration is one bit away
    from the first. Every result is added to what there was."""
    asm, image = Assembler(config), image_with(MicroOp(0), config=config)
    operands = {"dst": MemoryId.ACC, "src": MemoryId.INP, "wgt": MemoryId.WGT}
    for memory in operands.values():
        signals = Unit.COMPUTE if memory is MemoryId.WGT else ()
        asm.load(memory, sram=0, dram=0, columns=config.depth(memory), signals=signals)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1, waits_for=Unit.LOAD)
    for operand, memory in operands.items():
        for bit in range(config.index_bits(memory)):
            step = Loop(2, **{operand: 1 << bit})
            for loops in ((step, Loop(1)), (Loop(1), step)):
                asm.gemm((0, 1), loops)
    for operand in ("dst", "src"):
        for bit in range(config.index_bits(MemoryId.ACC)):
            step = Loop(2, **{operand: 1 << bit})
            for loops in ((step, Loop(1)), (Loop(1), step)):
                asm.alu(AluOp.ADD, (0, 1), loops)
    compare_results(asm, image, store_every_byte(asm, 0, config.depth(MemoryId.ACC)))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_a_loop_s_count(config: HardwareConfig) -> None:
    """Accumulators count the iterations of their loops, of which one alone is long."""
    asm, engine = Assembler(config), RtlEngine(config)
    counts = [1 << bit for bit in range(14)]
    image = image_with(*map(MicroOp, range(2 * len(counts))), config=config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=2 * len(counts))
    for element, count in enumerate(counts):
        outer, inner = (element, element + 1), (len(counts) + element, len(counts) + element + 1)
        for uop in (outer, inner):
            # Whatever it held: 0 or -1, then 0.
            asm.alu(AluOp.SHR, uop, imm=31)
            asm.alu(AluOp.MAX, uop, imm=0)
        asm.alu(AluOp.ADD, outer, (Loop(count), Loop(1)), imm=1)
        asm.alu(AluOp.ADD, inner, (Loop(1), Loop(count)), imm=1)
    every = (0, 1), (Loop(2 * len(counts), dst=1),)
    step = 2 * len(counts) * config.element_bytes(MemoryId.OUT)
    for part in range(2):
        waits = () if part == 0 else Unit.STORE
        asm.alu(AluOp.SHR, *every, imm=8 * part, waits_for=waits, signals=Unit.STORE)
        out = (RESULT + part * step) // config.element_bytes(MemoryId.OUT)
        asm.store(
            sram=0, dram=out, columns=2 * len(counts), waits_for=Unit.COMPUTE, signals=Unit.COMPUTE
        )
    asm.finish(waits_for=Unit.STORE)
    _, found = launch(engine, asm.build(), image, max_cycles=100_000)
    engine.close()
    low, high = found[RESULT:][: 2 * step].reshape(2, -1)[:, :: config.element_bytes(MemoryId.OUT)]
    assert (low + 256 * high.astype(int)).tolist() == 2 * counts

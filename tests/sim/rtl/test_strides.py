"""Loads and stores of rows that lie far apart, at far places, and of whole memories in rows of
every length: the compiled engine against `functional`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.topology import BASED
from tandem.sim.engine import Bytes
from tandem.sim.functional import FunctionalEngine
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.launching import launch

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

CONFIGS = [load_config(name) for name in ("tiny", "small8", "tiny-x", "tiny-w")]
STRIDES = [stride | low for stride in (1 << bit for bit in range(16)) for low in range(2)]
COUNT = 4
"""Elements that are loaded: two rows of two."""
PLACES = (0x5555, 0xAAAA)
"""Of first elements: between them, every bit is once at 0 and once at 1."""
DATA, UOPS = 5 << 20, 1 << 20
"""Bytes of data, and of micro-ops behind them."""


def two_rows(config: HardwareConfig, place: int, stride: int) -> Program:
    """Loads two rows for each memory, from elements `place` and `place + stride` on, works with all
    of them, and stores two rows of results at the same indices."""
    asm, load, compute = Assembler(config), Unit.LOAD, Unit.COMPUTE
    requantises = MemoryId.PAR in config.memories

    def rows(memory: MemoryId, sram: int = 0) -> None:
        asm.load(memory, sram=sram, dram=place, columns=COUNT // 2, rows=2, stride=stride)

    for memory in (MemoryId.INP, MemoryId.WGT, *([MemoryId.PAR] if requantises else [])):
        rows(memory)
    asm.nop(load, signals=compute)
    rows(MemoryId.UOP)
    rows(MemoryId.ACC)
    rows(MemoryId.ACC_8BIT, sram=COUNT)
    asm.gemm((0, 1), (Loop(COUNT, dst=1, src=1, wgt=1),), waits_for=load)
    for uop in range(1, COUNT):
        asm.alu(AluOp.ADD, (uop, uop + 1), (Loop(2 * COUNT, dst=1),), imm=uop)
    if requantises:
        asm.requantise(0, (1, 1))
        asm.alu(AluOp.ADD, (0, 1), (Loop(COUNT, dst=1),), imm=5)
    asm.nop(compute, signals=Unit.STORE)
    asm.store(sram=0, dram=place, columns=COUNT, rows=2, stride=stride, waits_for=compute)
    asm.nop(Unit.STORE, signals=compute)
    asm.finish(waits_for=Unit.STORE)
    return asm.build()


def put_elements(config: HardwareConfig, memory: Bytes, elements: list[int]) -> None:
    """Write micro-op 0 at each of `elements`, and parameters that take the highest byte of a
    result."""
    word = np.frombuffer(pack_uops(config, [MicroOp(0)]), np.uint8)
    for element in elements:
        memory[DATA + element * len(word) :][: len(word)] = word
        if MemoryId.PAR in config.memories:
            size = config.element_bytes(MemoryId.PAR)
            channels = memory[element * size :][:size].reshape(-1, PARAMETER_BYTES)
            channels[:, 4:7] = (1, 0, 24)


@pytest.mark.parametrize("place", PLACES, ids=hex)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_a_stride(config: HardwareConfig, place: int) -> None:
    functional, compiled = FunctionalEngine(config), RtlEngine(config)
    noise = np.random.default_rng(0).integers(0, 256, DATA + UOPS, np.uint8)
    bases = tuple(DATA if memory is MemoryId.UOP else 0 for memory in BASED)
    for stride in STRIDES:
        rows, memory = (place, place + stride), noise.copy()
        put_elements(config, memory, [row + column for row in rows for column in range(COUNT // 2)])
        program = two_rows(config, place, stride)
        _, wanted = launch(functional, program, memory, bases=bases)
        _, found = launch(compiled, program, memory, bases=bases, max_cycles=10_000)
        np.testing.assert_array_equal(found, wanted, err_msg=f"stride {stride}")
        (changed,) = np.nonzero(found != memory)
        size = config.element_bytes(MemoryId.OUT)
        assert set(rows) <= set((changed // size).tolist())
    compiled.close()


def whole_memories(config: HardwareConfig, rows: int) -> Program:
    """Fills each memory by one LOAD of as many rows, or of one if it has fewer elements; works with
    all elements, and stores all accumulators in as many rows."""
    asm, load, compute = Assembler(config), Unit.LOAD, Unit.COMPUTE

    def shape(memory: MemoryId) -> tuple[int, int]:
        depth = config.depth(memory)
        return (rows, depth // rows) if rows <= depth else (1, depth)

    def fill(memory: MemoryId) -> None:
        count, columns = shape(memory)
        asm.load(memory, sram=0, dram=0, columns=columns, rows=count, stride=columns + 1)

    fill(MemoryId.INP)
    fill(MemoryId.WGT)
    asm.nop(load, signals=compute)
    fill(MemoryId.UOP)
    fill(MemoryId.ACC)
    inp, wgt = (Loop(config.depth(memory)) for memory in (MemoryId.INP, MemoryId.WGT))
    asm.gemm((0, 1), (replace(inp, dst=1, src=1),), waits_for=load)
    asm.gemm((0, 1), (replace(wgt, dst=1, wgt=1),))
    # Every micro-op names accumulator 0, to which it adds 1.
    asm.alu(AluOp.ADD, (0, config.depth(MemoryId.UOP)), (), imm=1)
    asm.nop(compute, signals=Unit.STORE)
    count, columns = shape(MemoryId.OUT)
    asm.store(sram=0, dram=0, columns=columns, rows=count, stride=columns + 1, waits_for=compute)
    asm.nop(Unit.STORE, signals=compute)
    asm.finish(waits_for=Unit.STORE)
    return asm.build()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_rows_of_every_length(config: HardwareConfig) -> None:
    functional, compiled = FunctionalEngine(config), RtlEngine(config)
    size = 1 << 16
    memory = np.random.default_rng(0).integers(0, 256, 2 * size, np.uint8)
    memory[size:] = 0  # micro-ops
    bases = tuple(size if kind is MemoryId.UOP else 0 for kind in BASED)
    depth = config.depth(MemoryId.OUT)
    for rows in (1 << bit for bit in range(depth.bit_length())):
        program = whole_memories(config, rows)
        _, wanted = launch(functional, program, memory, bases=bases)
        _, found = launch(compiled, program, memory, bases=bases, max_cycles=100_000)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{rows} rows")
        assert len(np.unique(np.nonzero(found != memory)[0])) > depth
    compiled.close()

"""Loads and stores of rows that lie far apart, at far places: the compiled engine against
`functional`."""

from __future__ import annotations

import numpy as np
import pytest

from hw.config import PARAMETER_BYTES, HardwareConfig
from hw.config_files import load_config
from hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from sim.engine import Bytes
from sim.functional import FunctionalEngine
from sim.rtl.engine import RtlEngine
from tests.support.launching import launch

CONFIGS = [load_config(name) for name in ("tiny", "small8", "tiny-x")]
STRIDES = [1 << bit for bit in range(16)]
PLACES = (0x5555, 0xAAAA)
"""Of first elements: between them, every bit is once at 0 and once at 1."""
SIZE = 1 << 23
"""Bytes of data, which lie before as many bytes of micro-ops."""


def two_rows(config: HardwareConfig, place: int, stride: int) -> Program:
    """Loads elements `place` and `place + stride` for each memory, works with all of them, and
    stores two rows of results at the same indices."""
    asm, load, compute = Assembler(config), Unit.LOAD, Unit.COMPUTE
    requantises = MemoryId.PAR in config.memories

    def rows(memory: MemoryId, sram: int = 0) -> None:
        asm.load(memory, sram=sram, dram=place, columns=1, rows=2, stride=stride)

    for memory in (MemoryId.INP, MemoryId.WGT, *([MemoryId.PAR] if requantises else [])):
        rows(memory)
    asm.nop(load, signals=compute)
    rows(MemoryId.UOP)
    rows(MemoryId.ACC)
    rows(MemoryId.ACC_8BIT, sram=2)
    both = Loop(2, dst=1, src=1, wgt=1)
    asm.gemm((0, 1), (both,), waits_for=load)
    asm.alu(AluOp.ADD, (1, 2), (Loop(4, dst=1),), imm=5)
    if requantises:
        asm.requantise(0, (1, 1))
        asm.alu(AluOp.ADD, (0, 1), (Loop(2, dst=1),), imm=5)
    asm.nop(compute, signals=Unit.STORE)
    asm.store(sram=0, dram=place, columns=2, rows=2, stride=stride, waits_for=compute)
    asm.nop(Unit.STORE, signals=compute)
    asm.finish(waits_for=Unit.STORE)
    return asm.build()


def memory_with(config: HardwareConfig, elements: tuple[int, int]) -> Bytes:
    """Random bytes, with micro-op 0 at each of `elements`, and parameters that take the highest
    byte of a result."""
    memory = np.random.default_rng(0).integers(0, 256, 2 * SIZE, np.uint8)
    word = np.frombuffer(pack_uops(config, [MicroOp(0)]), np.uint8)
    for element in elements:
        memory[SIZE + element * len(word) :][: len(word)] = word
        if MemoryId.PAR in config.memories:
            size = config.element_bytes(MemoryId.PAR)
            channels = memory[element * size :][:size].reshape(-1, PARAMETER_BYTES)
            channels[:, 4:7] = (1, 0, 24)
    return memory


@pytest.mark.parametrize("place", PLACES, ids=hex)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_bit_of_a_stride(config: HardwareConfig, place: int) -> None:
    functional, compiled = FunctionalEngine(config), RtlEngine(config)
    bases = tuple(SIZE if memory is MemoryId.UOP else 0 for memory in MemoryId)
    for stride in STRIDES:
        memory = memory_with(config, (place, place + stride))
        program = two_rows(config, place, stride)
        _, wanted = launch(functional, program, memory, bases=bases)
        _, found = launch(compiled, program, memory, bases=bases, max_cycles=10_000)
        np.testing.assert_array_equal(found, wanted, err_msg=f"stride {stride}")
        (changed,) = np.nonzero(found != memory)
        size = config.element_bytes(MemoryId.OUT)
        assert {place, place + stride} <= set((changed // size).tolist())
    compiled.close()

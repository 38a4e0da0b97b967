"""What a requantiser makes of sums around its limits, with every shift: each engine against the
formula of ARCHITECTURE.md."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hw.config_files import load_config
from hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from sim.engines import make_engine
from tests.support.launching import launch

CONFIG = load_config("tiny-x")
UOPS, OPERANDS, PARAMETERS, SUMS, RESULTS = 0x0, 0x400, 0x800, 0x1000, 0x4000
IMAGE = 0x6000
PARAMETER = np.dtype([("addend", "<i4"), ("multiplier", "<u2"), ("shift", "u1"), ("unused", "u1")])
SHIFTS = np.arange(32).reshape(-1, CONFIG.block_out)
"""Of each element of PAR, its channels' shifts."""
COUNT = CONFIG.depth(MemoryId.ACC)
LOW, HIGH = -128, 127
SCALE = 0xA5A5A5


def parameters() -> np.ndarray:
    """An element of PAR for each row of `SHIFTS`; long shifts are of long products."""
    made = np.zeros(SHIFTS.shape, PARAMETER)
    made["addend"] = np.random.default_rng(0).integers(-(1 << 10), 1 << 10, SHIFTS.shape)
    made["multiplier"] = np.where(SHIFTS < 16, 1, 0x8001)
    made["shift"] = SHIFTS
    return made


def sums(made: np.ndarray) -> np.ndarray:
    """For each channel, values of ACC whose results lie at and beyond the limits, and anywhere;
    shape (elements of PAR, `COUNT`, channels)."""
    draw = random.Random(0)
    found = np.empty((len(made), COUNT, made.shape[1]), np.int32)
    for (row, channel), one in np.ndenumerate(made):
        addend, multiplier, shift = (int(one[name]) for name in ("addend", "multiplier", "shift"))
        edges = [
            (limit << shift) + step
            for limit in (-256, -129, -128, -1, 0, 127, 128, 256)
            for step in (-1, 0, multiplier)
        ]
        drawn = [draw.randrange(-(300 << shift), 300 << shift) for _ in range(COUNT - len(edges))]
        found[row, :, channel] = [(total - addend) // multiplier for total in (*edges, *drawn)]
    return found


def program(residual: bool) -> Program:
    """An ALU pass over all accumulators for each element of PAR: of 0, or of elements of INP."""
    asm, loops = Assembler(CONFIG), (Loop(COUNT, dst=1, src=1),)
    load, compute, store = Unit.LOAD, Unit.COMPUTE, Unit.STORE
    first = {
        memory: address // CONFIG.element_bytes(memory)
        for memory, address in (
            (MemoryId.INP, OPERANDS),
            (MemoryId.PAR, PARAMETERS),
            (MemoryId.ACC, SUMS),
            (MemoryId.OUT, RESULTS),
        )
    }
    asm.load(MemoryId.UOP, sram=0, dram=UOPS, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=first[MemoryId.INP], columns=COUNT)
    asm.load(MemoryId.PAR, sram=0, dram=first[MemoryId.PAR], columns=len(SHIFTS), signals=compute)
    for row in range(len(SHIFTS)):
        at = row * COUNT
        asm.load(MemoryId.ACC, sram=0, dram=first[MemoryId.ACC] + at, columns=COUNT)
        asm.requantise(row, low=LOW, high=HIGH, scale=SCALE, waits_for=store if row else load)
        if residual:
            asm.alu(AluOp.RESIDUAL, (0, 1), loops, from_inp=True, signals=store)
        else:
            asm.alu(AluOp.ADD, (0, 1), loops, imm=0, signals=store)
        out = first[MemoryId.OUT] + at
        asm.store(sram=0, dram=out, columns=COUNT, waits_for=compute, signals=compute)
    asm.finish(waits_for=store)
    return asm.build()


@pytest.mark.parametrize("residual", [False, True], ids=["plain", "residual"])
@pytest.mark.parametrize("name", ["functional", "cycle", "rtl"])
def test_every_shift(name: str, residual: bool) -> None:
    made = parameters()
    operands = np.random.default_rng(1).integers(-128, 128, (COUNT, CONFIG.block_in), np.int8)
    values = sums(made)
    image = np.zeros(IMAGE, np.uint8)
    for address, data in (
        (UOPS, pack_uops(CONFIG, [MicroOp(0)])),
        (OPERANDS, operands.tobytes()),
        (PARAMETERS, made.tobytes()),
        (SUMS, values.tobytes()),
    ):
        image[address : address + len(data)] = np.frombuffer(data, np.uint8)
    engine = make_engine(name, CONFIG)
    _, after = launch(engine, program(residual), image, max_cycles=100_000)
    engine.close()
    wide = {field: made[field].astype(np.int64)[:, np.newaxis] for field in PARAMETER.names or ()}
    total = values.astype(np.int64) * wide["multiplier"] + wide["addend"]
    if residual:
        total += operands.astype(np.int64) * SCALE
    expected = np.clip(total >> wide["shift"], LOW, HIGH)
    found = after[RESULTS:][: expected.size].view(np.int8).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    for channel in expected.transpose(0, 2, 1).reshape(-1, COUNT):
        assert {LOW, HIGH} <= set(channel.tolist())
        assert residual or {-1, 0} <= set(channel.tolist())

"""What a requantiser makes of sums around its limits, with every shift: each engine against the
formula of docs/extensions.md."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.instruction_fields import SCALE_BITS
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.sim.engines import make_engine
from tests.support.sim.launching import launch

CONFIG = load_config("tiny-x")
UOPS, OPERANDS, PARAMETERS, SUMS, RESULTS = 0x0, 0x400, 0x800, 0x1000, 0x4000
IMAGE = 0x6000
PARAMETER = np.dtype([("addend", "<i4"), ("multiplier", "<u2"), ("shift", "u1"), ("unused", "u1")])
SHIFTS = np.array(
    [np.roll(row, at) for at, row in enumerate(np.arange(32).reshape(-1, CONFIG.block_out))]
)
"""Of each element of PAR, its channels' shifts."""
COUNT = CONFIG.depth(MemoryId.ACC)
ROWS = range(len(SHIFTS))
CLIPS = [((0x55, 0x6A), (-0x56, -0x2B), (-128, 127), (-0x2B, 0x2A))[row % 4] for row in ROWS]
SCALES = [(0xA5A5A5, 0x5A5A5A)[row % 2] % (1 << min(SCALE_BITS, 4 * row + 4)) for row in ROWS]
"""Of each element's results and residuals. Of all that an element or its instruction says, every
bit is 0 for one and 1 for another, where results show it."""


def parameters() -> np.ndarray:
    """An element of PAR for each row of `SHIFTS`; long shifts are of long products."""
    made, draw = np.zeros(SHIFTS.shape, PARAMETER), np.random.default_rng(0)
    made["addend"] = draw.integers(-(1 << 10), 1 << 10, SHIFTS.shape)
    made["addend"][1] = ~made["addend"][0]
    long = draw.integers(0x8000, 0x10000, SHIFTS.shape)
    long[-1] = long[-2] ^ 0x7FFF
    made["multiplier"] = np.where(SHIFTS < 16, 1, long)
    made["shift"] = SHIFTS
    return made


def sums(made: np.ndarray) -> np.ndarray:
    """For each channel, values of ACC whose results lie at and beyond the limits, and anywhere;
    shape (elements of PAR, `COUNT`, channels)."""
    draw = random.Random(0)
    found = np.empty((len(made), COUNT, made.shape[1]), np.int32)
    for (row, channel), one in np.ndenumerate(made):
        addend, multiplier, shift = (int(one[name]) for name in ("addend", "multiplier", "shift"))
        low, high = CLIPS[row]
        edges = [
            (limit << shift) + step
            for limit in (-256, low - 1, low, -1, 0, high, high + 1, 256)
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
        low, high = CLIPS[row]
        scale, waits = SCALES[row], store if row else load
        asm.requantise(row, low=low, high=high, scale=scale, waits_for=waits)
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
        total += operands.astype(np.int64) * np.array(SCALES)[:, np.newaxis, np.newaxis]
    low, high = np.array(CLIPS).T[..., np.newaxis, np.newaxis]
    expected = np.clip(total >> wide["shift"], low, high)
    found = after[RESULTS:][: expected.size].view(np.int8).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    for row, channel in np.ndindex(SHIFTS.shape):
        results = set(expected[row, :, channel].tolist())
        assert set(CLIPS[row]) <= results
        assert residual or {-1, 0}.intersection(range(*CLIPS[row])) <= results

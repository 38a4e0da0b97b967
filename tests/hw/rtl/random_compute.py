"""Random programs for the compute unit alone, executed on plain numbers as they are drawn."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Requantise,
    Tokens,
    pack_uops,
)
from tandem.hw.operations import MAX_SHIFT
from tests.support.hw.rtl.compute_stand import BASES, MEMORY_BYTES
from tests.support.hw.rtl.plain_compute import PlainCompute, RefusedError
from tests.support.sim.reference import Image

UOPS = 16
"""Micro-ops that the random programs choose from, at the start of the micro-op memory."""

TOKEN_NAMES = ("pop_prev", "pop_next", "push_prev", "push_next")

Draw = Callable[[random.Random, HardwareConfig], Instruction]


def random_image(rng: random.Random, config: HardwareConfig) -> Image:
    """Random bytes; where micro-ops are loaded from, ones with small indices."""
    image = np.frombuffer(bytearray(rng.randbytes(MEMORY_BYTES)), np.uint8)
    few = 4
    uops = [MicroOp(rng.randrange(few), rng.randrange(few), rng.randrange(few)) for _ in range(64)]
    packed = pack_uops(config, uops)
    image[BASES[MemoryId.UOP] : BASES[MemoryId.UOP] + len(packed)] = np.frombuffer(packed, np.uint8)
    return image


def random_tokens(rng: random.Random) -> Tokens:
    return Tokens(**{name: rng.random() < 0.25 for name in TOKEN_NAMES})


def random_load(rng: random.Random, config: HardwareConfig) -> Load:
    """Micro-ops or accumulators, some of them with padding, some empty."""
    memory = rng.choice((MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT))
    x_size = rng.choice((0, 1, 3, 5))
    depth = UOPS if memory is MemoryId.UOP else 4
    pad = rng.choice((0, 0, 1)) if x_size else 0
    width = x_size + pad
    base = rng.randrange(max(1, depth - width + 1))
    return Load(
        memory=memory,
        sram_base=base,
        dram_base=rng.randrange(32),
        y_size=1,
        x_size=x_size,
        x_stride=0,
        x_pad_1=pad,
        tokens=random_tokens(rng),
    )


def random_loops(rng: random.Random, config: HardwareConfig) -> Gemm | Alu:
    """Few accumulators, so that results are needed as soon as they are made."""
    bgn = rng.randrange(UOPS)
    factors = {
        f"{name}_factor_{way}": rng.choice((0, 0, 1))
        for name in ("dst", "src")
        for way in ("out", "in")
    }
    common: dict[str, Any] = {
        "uop_bgn": bgn,
        "uop_end": rng.randint(bgn + 1, min(UOPS, bgn + 4)),
        "iter_out": rng.randint(1, 3),
        "iter_in": rng.randint(1, 3),
        "tokens": random_tokens(rng),
        **factors,
    }
    if rng.random() < 0.5:
        weights: dict[str, Any] = {
            "wgt_factor_out": rng.choice((0, 1)),
            "wgt_factor_in": rng.choice((0, 1)),
        }
        overwrite = Feature.OVERWRITE in config.features and rng.random() < 0.4
        return Gemm(reset=rng.random() < 0.2, overwrite=overwrite, **weights, **common)
    op = rng.choice(config.operations)
    limit = MAX_SHIFT if op is AluOp.SHR else 32767
    imm = rng.randint(-limit, limit)
    may_be_inp = Feature.INPUT_OPERANDS in config.features
    from_inp = op is AluOp.RESIDUAL or (may_be_inp and rng.random() < 0.3)
    use_imm = not from_inp and rng.random() < 0.4
    return Alu(op=op, use_imm=use_imm, imm=imm, from_inp=from_inp, **common)


def random_requantise(rng: random.Random, config: HardwareConfig) -> Requantise:
    """Of few elements of PAR; mostly active."""
    return Requantise(
        active=rng.random() < 0.8,
        low=rng.choice((-128, 0, rng.randint(-128, 127))),
        high=rng.choice((127, 127, rng.randint(-128, 127))),
        scale=rng.choice((0, 1, rng.getrandbits(24))),
        par_base=rng.randrange(3),
        par_factor_out=rng.choice((0, 1, 5)),
        par_factor_in=rng.choice((0, 1, 2)),
        tokens=random_tokens(rng),
    )


def shift_all(config: HardwareConfig) -> Alu:
    """The next byte of every accumulator moves to the bottom, where OUT shows it."""
    return Alu(
        op=AluOp.SHR,
        use_imm=True,
        imm=8,
        uop_bgn=UOPS,
        uop_end=UOPS + 1,
        iter_out=config.depth(MemoryId.ACC),
        iter_in=1,
        dst_factor_out=1,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
    )


def random_program(
    rng: random.Random, config: HardwareConfig, machine: PlainCompute, image: Image, size: int
) -> tuple[list[Instruction], PlainCompute]:
    """Legal instructions, and a machine like `machine` that has executed them."""
    first = Load(
        memory=MemoryId.UOP,
        sram_base=0,
        dram_base=0,
        y_size=1,
        x_size=UOPS,
        x_stride=0,
        # Behind the micro-ops that programs use lies one of zeros, for `shift_all`.
        x_pad_1=1,
    )
    program: list[Instruction] = [first]
    machine = copy.deepcopy(machine)
    machine.step(first, image)
    draws: list[Draw] = [random_load, random_loops, random_loops, random_loops]
    if Feature.REQUANTISE in config.features:
        draws.append(random_requantise)
    while len(program) < size:
        instruction = rng.choice(draws)(rng, config)
        attempt = copy.deepcopy(machine)
        try:
            attempt.step(instruction, image)
        except RefusedError:
            continue
        machine = attempt
        program.append(instruction)
    return program, machine

"""The compute unit against the reference machine: random programs."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.errors import ProgramError
from hw.isa import (
    Alu,
    AluOp,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Tokens,
    pack_uops,
)
from tests.support.compute_stand import BASES, MEMORY_BYTES, Stand, fresh_machine
from tests.support.reference import Image, ReferenceMachine
from tests.support.rtl import (
    Context,
    seeds,
    simulate,
)

TINY = load_config("tiny")
SINGLE = TINY.replace(
    log_block_in=0, log_block_out=0, log_inp_buffer=5, log_wgt_buffer=5, log_acc_buffer=7
)
ONE_PORT = SINGLE.replace(acc_read_ports=1)
BATCH = TINY.replace(log_batch=1, log_block_in=3, log_block_out=1, log_acc_buffer=8)
CONFIGS = {"tiny": TINY, "single": SINGLE, "one_port": ONE_PORT, "batch": BATCH}
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
        return Gemm(reset=rng.random() < 0.2, **weights, **common)
    op = rng.choice(list(AluOp))
    limit = 31 if op is AluOp.SHR else 32767
    imm = rng.randint(-limit, limit)
    return Alu(op=op, use_imm=rng.random() < 0.4, imm=imm, **common)


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
    rng: random.Random, config: HardwareConfig, machine: ReferenceMachine, image: Image, size: int
) -> list[Instruction]:
    """Legal instructions, executed on `machine` as they are drawn."""
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
    machine.step(first, image)
    draws: tuple[Draw, ...] = (random_load, random_loops, random_loops, random_loops)
    while len(program) < size:
        instruction = rng.choice(draws)(rng, config)
        attempt = copy.deepcopy(machine)
        try:
            attempt.step(instruction, image)
        except ProgramError:
            continue
        machine.acc[:], machine.uop[:] = attempt.acc, attempt.uop
        program.append(instruction)
    return program


def run_random(config: HardwareConfig, seed: int, size: int) -> None:
    """A random program; one byte of each accumulator is compared, which one the seed says."""
    rng = random.Random(seed)
    part = seed % 4
    image = random_image(rng, config)
    machine = fresh_machine(config, rng)
    program = random_program(rng, config, machine, image, size)
    program += [shift_all(config)] * part
    stand = Stand(
        config,
        program,
        image,
        machine,
        rng,
        rng.choice((0.3, 1.0)),
        latency=range(1, 9),
        pause=rng.choice((0.0, 0.3)),
    )

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        assert ctx.get(stand.unit.status.quiet)
        stand.compare_tokens()
        wanted = [(each >> 8 * part).astype(np.int8).tobytes() for each in machine.acc]
        assert await stand.out(ctx) == [int.from_bytes(each, "little") for each in wanted]

    simulate(stand.unit, bench)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_random_programs(config: HardwareConfig, seed: int) -> None:
    run_random(config, seed, 24)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(24))
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_long_random_programs(config: HardwareConfig, seed: int) -> None:
    run_random(config, seed + 1, 200)

"""The compute unit against plain numbers: random programs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Instruction, Requantise
from tests.hw.rtl.random_compute import random_image, random_program, shift_all
from tests.support.hw.configs import COMPUTE_FEATURES
from tests.support.hw.rtl.compute_stand import BASES, Stand
from tests.support.hw.rtl.plain_compute import PlainCompute
from tests.support.hw.rtl.rtl import Context, seeds, simulate

TINY = load_config("tiny")
SINGLE = TINY.replace(
    log_block_in=0, log_block_out=0, log_inp_buffer=5, log_wgt_buffer=5, log_acc_buffer=7
)
BATCH = TINY.replace(log_batch=1, log_block_in=3, log_block_out=1, log_acc_buffer=8)
DEEP = TINY.replace(log_block_in=5, log_inp_buffer=10, log_wgt_buffer=11)
ALL = COMPUTE_FEATURES
EXTENDED = {
    "extended": TINY.replace(features=ALL),
    "extended_single": SINGLE.replace(features=ALL),
    "extended_one_port": SINGLE.replace(features=ALL, acc_read_ports=1),
    "extended_batch": TINY.replace(
        log_batch=1, log_acc_buffer=9, features=ALL, bus_bits=256, acc_read_ports=1
    ),
    "extended_deep": DEEP.replace(
        log_block_out=5, log_wgt_buffer=14, log_acc_buffer=12, features=ALL
    ),
    "requantise": DEEP.replace(features=frozenset({Feature.REQUANTISE})),
    "overwrite": TINY.replace(features=frozenset({Feature.OVERWRITE})),
    "input_operands": TINY.replace(features=frozenset({Feature.INPUT_OPERANDS})),
}
CONFIGS = {
    "tiny": TINY,
    "single": SINGLE,
    "one_port": SINGLE.replace(acc_read_ports=1),
    "batch": BATCH,
    **EXTENDED,
}
QUICK = ("tiny", "single", "one_port", "batch", "extended", "extended_batch", "input_operands")


def run_random(config: HardwareConfig, seed: int, size: int) -> None:
    """A random program; the bytes of OUT are compared, as they are or, for most seeds, after a
    shift that brings one of the others of each accumulator there; the seed says which."""
    rng = random.Random(seed)
    image = random_image(rng, config)
    values = np.random.default_rng(rng.randrange(1 << 30))
    before = PlainCompute(config, BASES, values)
    program, machine = random_program(rng, config, before, image, size)
    last: list[Instruction] = [shift_all(config)] * (seed % 4)
    if Feature.REQUANTISE in config.features and last:
        last.insert(0, Requantise(active=False))
    for instruction in last:
        machine.step(instruction, image)
    program += last
    stand = Stand(
        config,
        program,
        image,
        before,
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
        wanted = [int.from_bytes(each.tobytes(), "little") for each in machine.out]
        assert await stand.out(ctx) == wanted

    simulate(stand.unit, bench)


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("name", QUICK)
def test_random_programs(name: str, seed: int) -> None:
    run_random(CONFIGS[name], seed, 24)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(24))
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_long_random_programs(config: HardwareConfig, seed: int) -> None:
    run_random(config, seed + 1, 200)

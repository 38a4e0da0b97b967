"""Random race-free programs leave the same memory on the RTL as on `functional`.

Every program runs on both engines, with another memory and, every other time, with random stalls
on all bus channels. The seed is in the test's name.
"""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Table
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engine import Launch, Stalls
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tests.support.hw.configs import UNCOMMON, compressed, presets
from tests.support.sim.programs import random_program

QUICK_SEEDS = 9
MANY_SEEDS = 200
LENGTH = 40
CODED_SEEDS = 167
MEMORIES = tuple(MEMORY_PRESETS.values())
# A simulator of each is built. The machines that are left out differ from these in sizes only.
QUICK = ("tiny", "small8", "wide_bus", "tiny-x", "tiny-w", "compressed_tall")


def _check(config: HardwareConfig, seeds: range) -> None:
    functional = make_engine("functional", config, MEMORIES[0])
    machines = [make_engine("rtl", config, memory) for memory in MEMORIES]
    for seed in seeds:
        drawn = random_program(config, seed, LENGTH)
        repetition, place = divmod(seed, len(machines))
        stalls = Stalls(0.3, seed) if repetition % 2 else None
        for engine in (functional, machines[place]):
            timed = engine is not functional
            memory, address = place_program(drawn.image, drawn.program)
            how = Launch(address=address, stalls=stalls if timed else None, max_cycles=10_000_000)
            engine.launch(drawn.program, memory, how)
            np.testing.assert_array_equal(
                memory[: len(drawn.image)],
                drawn.expected,
                err_msg=f"{engine.name} on {config.name}, seed {seed}",
            )


@pytest.mark.parametrize(
    "config",
    [config for config in (*presets(), *UNCOMMON) if config.name in QUICK],
    ids=lambda config: config.name,
)
def test_few(config: HardwareConfig) -> None:
    _check(config, range(QUICK_SEEDS))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", [*presets(), *UNCOMMON], ids=lambda config: config.name)
def test_many(config: HardwareConfig) -> None:
    _check(config, range(1000, 1000 + MANY_SEEDS))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", compressed(), ids=lambda config: config.name)
def test_many_with_codes(config: HardwareConfig) -> None:
    """2,000 over a dozen machines, all of which load compressed weights."""
    seeds = range(5000, 5000 + CODED_SEEDS)
    kinds = {type(one) for one in random_program(config, seeds[0], 10 * LENGTH).program}
    assert Table in kinds
    _check(config, seeds)

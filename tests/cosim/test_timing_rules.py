"""The timing rules of docs/timing.md predict the events of random programs on the RTL."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.sim.engine import Stalls
from tandem.sim.rtl.engine import RtlEngine
from tests.support.hw.configs import UNCOMMON, presets
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program
from tests.support.sim.timing_rules import TimingRules

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

LENGTH = 40
QUICK = ("tiny", "small8", "wide_bus", "tiny-x")
MEMORIES = (*MEMORY_PRESETS.values(), MemoryModel(7, 3, 2))


def check(config: HardwareConfig, memory: MemoryModel, seeds: range) -> None:
    engine = RtlEngine(config, memory)
    pipeline_stalls = 0
    for seed in seeds:
        drawn = random_program(config, seed, LENGTH)
        stalls = Stalls(0.3, seed) if seed % 3 == 0 else None
        result, _ = launch(
            engine, drawn.program, drawn.image, stalls=stalls, events=True, max_cycles=10_000_000
        )
        try:
            rules = TimingRules(drawn.program, result, drawn.image)
            rules.check()
        except AssertionError as error:
            raise AssertionError(f"{config.name}, {memory}, seed {seed}: {error}") from None
        pipeline_stalls += len(rules.loops.stalls)
    assert pipeline_stalls > 0
    engine.close()


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
@pytest.mark.parametrize(
    "config",
    [config for config in (*presets(), *UNCOMMON) if config.name in QUICK],
    ids=lambda config: config.name,
)
def test_few(config: HardwareConfig, memory: MemoryModel) -> None:
    check(config, memory, range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("memory", MEMORIES, ids=str)
@pytest.mark.parametrize("config", [*presets(), *UNCOMMON], ids=lambda config: config.name)
def test_many(config: HardwareConfig, memory: MemoryModel) -> None:
    check(config, memory, range(5000, 5050))

"""The cycle engine's time is the RTL's: every event, every counter, and what is left in memory."""

from __future__ import annotations

import random

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.sim.compare import Comparison
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Engine
from tandem.sim.engine_pair import EnginePair
from tandem.sim.rtl.engine import RtlEngine
from tests.support.hw.configs import UNCOMMON, presets
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program
from tests.support.sim.reference import Image

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

LENGTH = 40
CONFIGS = (*presets(), *UNCOMMON)
QUICK = ("tiny", "small8", "wide_bus", "tiny-x", "tiny-w", "compressed")
SMALL_VECTORS = [name for name in vector_names() if name.endswith("small8")]
MOST_CYCLES = 10_000_000


def drawn_memory(seed: int) -> MemoryModel:
    """A memory of any latency, bandwidth and number of bursts in flight."""
    rng = random.Random(f"memory {seed}")
    latency = rng.choice((1, 2, 3, 5, 16, 64, 200, rng.randint(1, 500)))
    return MemoryModel(latency, rng.choice((1, 1, 2, 3, 4, 7)), rng.choice((1, 2, 3, 16, 300)))


def compare(rtl: Engine, cycle: Engine, program: Program, image: Image) -> None:
    comparisons: list[Comparison] = []
    pair = EnginePair(rtl, cycle, comparisons.append)
    launch(pair, program, image, max_cycles=MOST_CYCLES)
    (comparison,) = comparisons
    assert comparison.has_time
    assert comparison.equal, comparison.differences


def check(config: HardwareConfig, seeds: range) -> None:
    """Each program with a memory of its own."""
    for seed in seeds:
        memory = drawn_memory(seed)
        drawn = random_program(config, seed, LENGTH)
        rtl, cycle = RtlEngine(config, memory), CycleEngine(config, memory)
        try:
            compare(rtl, cycle, drawn.program, drawn.image)
            # The second launch finds what the first left on chip.
            if seed % 4 == 0:
                compare(rtl, cycle, drawn.program, drawn.image)
        except AssertionError as error:
            raise AssertionError(f"{config.name}, {memory}, seed {seed}: {error}") from None
        finally:
            rtl.close()


@pytest.mark.parametrize(
    "config", [each for each in CONFIGS if each.name in QUICK], ids=lambda config: config.name
)
def test_few(config: HardwareConfig) -> None:
    check(config, range(12))


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_many(config: HardwareConfig) -> None:
    check(config, range(10_000, 10_650))


def _check_vector(name: str, memory: MemoryModel) -> None:
    vector = load_vector(name)
    rtl, cycle = RtlEngine(vector.config, memory), CycleEngine(vector.config, memory)
    compare(rtl, cycle, vector.program, vector.before)
    rtl.close()


@pytest.mark.parametrize("name", SMALL_VECTORS)
def test_vectors(name: str) -> None:
    _check_vector(name, MEMORY_PRESETS["edge"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("memory", MEMORY_PRESETS)
@pytest.mark.parametrize("name", vector_names())
def test_every_vector(name: str, memory: str) -> None:
    _check_vector(name, MEMORY_PRESETS[memory])

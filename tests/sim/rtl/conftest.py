"""Simulators that tests share. They are built once: the cache on disk holds them for every worker,
and for the next run while nothing that they are made of has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tandem.hw.memory_model import MemoryModel
from tandem.sim.pysim import SimulatorBench
from tandem.sim.rtl.bench import Bench
from tandem.sim.rtl.build import build
from tandem.sim.rtl.library import CompiledBench
from tests.support.sim.traffic import CONFIG, TrafficGenerator, traffic_design

MakeBench = Callable[[MemoryModel], Bench]


@pytest.fixture(scope="session")
def traffic_library() -> Path:
    """The traffic generator, compiled."""
    return build(traffic_design())


@pytest.fixture
def compiled_bench(traffic_library: Path) -> Iterator[MakeBench]:
    """Makes benches of the compiled harness, with the traffic generator on them."""
    made: list[CompiledBench] = []

    def make(model: MemoryModel) -> Bench:
        made.append(CompiledBench(traffic_library, model))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


@pytest.fixture
def simulator_bench() -> MakeBench:
    """Makes the same benches on Amaranth's simulator."""

    def make(model: MemoryModel) -> Bench:
        return SimulatorBench(TrafficGenerator(), model, CONFIG.bus_bytes)

    return make


@pytest.fixture(params=["compiled_bench", "simulator_bench"])
def make_bench(request: pytest.FixtureRequest) -> MakeBench:
    """Makes benches of either kind."""
    return request.getfixturevalue(request.param)

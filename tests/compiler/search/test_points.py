"""Points, their JSON, and what bounds their layers."""

from __future__ import annotations

import json

import pytest

from tandem.compiler.search.bounds import Bound, bounded_by, utilization
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import with_front
from tandem.compiler.search.work import LayerWork
from tandem.hw.config_files import parse_config
from tandem.hw.memory_model import MemoryModel, parse_memory
from tests.support.compiler.search.search_points import OBJECTIVES, point, points


def test_the_front() -> None:
    assert [each.front for each in points()] == [True, True, False, False, False]
    # Of equal machines one.
    assert [each.front for each in with_front([point(5, 5.0)] * 2, OBJECTIVES)] == [True, False]


def test_json() -> None:
    one = points()[1]
    found = json.loads(json.dumps(one.as_json()))
    assert parse_config(json.dumps(found["config"]), "the point") == one.config
    assert (found["cycles"], found["area"], found["milliseconds"]) == (5_000, 900, 0.05)
    assert found["resources"] == {"lut": 1_000, "dsp": 29}
    assert found["dram_bytes"] == 15_100
    assert found["front"]
    assert found["reason"] is None
    refused = points()[3].as_json()
    assert refused["cycles"] is None
    assert refused["reason"] == "too small"


def test_weights_and_the_clock() -> None:
    one = point(5_000, 900.0)
    assert one.costs is not None
    assert one.costs.values((Objective.MILLISECONDS, Objective.CYCLES)) == (0.05, 5_000)
    assert one.costs.energy > 0


@pytest.mark.parametrize(
    ("layer", "memory", "bound"),
    [
        ((0, 1_000, 10, 800, 0), "fast", Bound.ARRAY),
        ((0, 10, 1_000, 800, 0), "fast", Bound.ALU),
        ((0, 10, 20, 800, 0), "fast", Bound.BUS),
        ((0, 10, 20, 0, 800), "fast", Bound.BUS),
        ((0, 100, 20, 800, 0), "fast", Bound.ARRAY),
        ((0, 100, 20, 800, 0), "edge", Bound.BUS),
    ],
)
def test_bounds(layer: tuple[int, ...], memory: str, bound: Bound) -> None:
    config = point(1, 1.0).config
    model: MemoryModel = parse_memory(memory)
    assert bounded_by(LayerWork("a", *layer), config, model) is bound


def test_utilization() -> None:
    one = point(5_000, 900.0)
    share = utilization(one.config, one.measured.work[0], 5_000)
    assert share == 281_600 / (5_000 * 256)

"""Layers fill a run from launch to done, as the profile counts them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact.stream import Layer, StreamCode
from tandem.runtime.layer_profiles import profile_layers
from tandem.sim.engines import make_engine
from tandem.sim.trace import Labels
from tandem.sim.trace.layer_spans import Span, layer_records, layer_spans
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program
from tests.support.sim.timelines import traced_run

STORY = traced_run()
EVENTS = STORY.result.events


def spans(*layer_of: int) -> list[Span]:
    labels = replace(STORY.labels, layer_of=np.array(layer_of))
    return list(layer_spans(EVENTS, labels, 20))


def test_spans() -> None:
    assert spans(0, 0, 0, 1, 1, -1) == [Span(0, 0, 6), Span(1, 6, 20)]


def test_what_has_no_layer_belongs_to_the_one_before() -> None:
    assert spans(-1, 0, 0, -1, 1, 1) == [Span(0, 0, 14), Span(1, 14, 20)]
    assert spans(-1, -1, -1, -1, -1, -1) == [Span(0, 0, 20)]


def test_layers_that_take_iterations_have_several() -> None:
    assert spans(1, 1, 0, 0, 1, 1) == [Span(1, 0, 6), Span(0, 6, 14), Span(1, 14, 20)]


def test_loads_and_stores_are_in_nobody_s_way() -> None:
    assert spans(0, 0, 1, 0, 1, 0) == [Span(0, 0, 20)]


def test_no_layers() -> None:
    none = replace(STORY.labels, layers=(), macs=(), layer_of=np.full(6, -1))
    assert list(layer_spans(EVENTS, none, 20)) == []


def test_records_have_the_figures_of_the_whole_layer() -> None:
    labels = replace(STORY.labels, layer_of=np.array([1, 1, 0, 0, 1, 1]))
    found = [record["args"] for record in layer_records(EVENTS, labels, 20, 256)]
    second = {"cycles": 12, "multiply-accumulates": 700, "utilisation": f"{700 / 12 / 256:.1%}"}
    first = {"cycles": 8, "multiply-accumulates": 512, "utilisation": "25.0%"}
    assert found == [second, first, second]


def test_without_products_there_is_no_utilisation() -> None:
    pooled = replace(STORY.labels, macs=(0, 0))
    found = [record["args"] for record in layer_records(EVENTS, pooled, 20, 256)]
    assert found == [
        {"cycles": 6, "multiply-accumulates": 0},
        {"cycles": 14, "multiply-accumulates": 0},
    ]


@pytest.mark.parametrize("alternating", [False, True])
def test_as_the_profile(alternating: bool) -> None:
    config = load_config("tiny")
    program = random_program(config, seed=5, size=300)
    engine = make_engine("rtl", config, parse_memory("fast"))
    result, _ = launch(engine, program.program, program.image, events=True)
    assert result.cycles is not None
    count = len(program.program)
    draw = random.Random(0)
    order = [draw.randrange(-1, 4) for _ in range(count)] if alternating else range(count)
    layer_of = np.array([n if alternating else n * 4 // count for n in order], np.int32)
    names = tuple("abcd")
    stream = StreamCode(
        name="s",
        config=program.program.config,
        program=program.program.data,
        image=np.zeros(0, np.uint8),
        inputs=(),
        outputs=(),
        layers=tuple(Layer(name, (), 0, 0) for name in names),
        layer_of=layer_of,
        places=("",) * count,
    )
    labels = Labels(names, (0,) * 4, layer_of, stream.places)
    drawn = [0] * 4
    until = 0
    for span in layer_spans(result.events, labels, result.cycles):
        assert span.start == until < span.end
        until = span.end
        drawn[span.layer] += span.end - span.start
    assert until == result.cycles
    profiles = profile_layers(stream, program.program, result)
    assert drawn == [each.cycles for each in profiles]

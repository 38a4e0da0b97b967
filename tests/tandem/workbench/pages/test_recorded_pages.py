"""Pages and pictures stay what they were: texts, tables, and what charts are told to draw."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.workbench.errors import PageError
from tandem.workbench.pages.library import chart_library
from tandem.workbench.pages.run import render as of_runs
from tandem.workbench.pages.search import render as of_searches
from tandem.workbench.pages.tuning import render as of_tuning
from tandem.workbench.pages.utilization import bars, roofline_chart, sweep_chart
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer
from tandem.workbench.utilization.rows import Row, Traffic
from tandem.workbench.utilization.sweep import SweptPoint, SweptPoints
from tandem.workbench.utilization.sweep_axes import machine_at, parse_axes, points
from tests.support.workbench.pages import random_pages

DRAWS = 10
"""Pages of each kind; most of their time goes to checks of charts by Altair."""


def _plain(page: str) -> str:
    """A page without the library that draws, and the version of what its charts are written in."""
    return re.sub(r'"\$schema": "[^"]*"(, )?', "", page.replace(chart_library(), ""))


def test_runs(recorded: Callable[[str, Sequence[str]], None]) -> None:
    drawn = [_plain(of_runs.render(random_pages.run_page(seed))) for seed in range(DRAWS)]
    recorded("recorded/pages/runs.txt", drawn)


def test_tuning(recorded: Callable[[str, Sequence[str]], None]) -> None:
    drawn = [_plain(of_tuning.render(random_pages.tuning_page(seed))) for seed in range(DRAWS)]
    recorded("recorded/pages/tuning.txt", drawn)


def test_searches(recorded: Callable[[str, Sequence[str]], None]) -> None:
    drawn = [_plain(of_searches.render(random_pages.search_page(seed))) for seed in range(DRAWS)]
    recorded("recorded/pages/searches.txt", drawn)


def _rows(random: Random, layers: Sequence[ConvLayer], multipliers: int) -> list[Row]:
    def traffic() -> Traffic:
        return Traffic(*(random.choice((0, random.randrange(1, 1 << 20))) for _ in range(2)))

    return [
        Row.of(
            layer,
            multipliers,
            (random.randrange(1, 1 << 24), random.randrange(1, 1 << 24)),
            (traffic(), traffic()),
        )
        for layer in layers
    ]


def _sizes(random: Random) -> tuple[int, int, int, int]:
    one, two, three, four = (random.randint(1, 30) for _ in range(4))
    return one, two, three, four


def _layers(random: Random) -> Sequence[ConvLayer]:
    own = [
        ConvLayer(name, *_sizes(random), 1, 1, 0, random.randint(1, 3))
        for name in random.sample(("a", "b", "total", "a longer name"), random.randint(1, 4))
    ]
    return random.choice((own, own, RESNET18, RESNET18[:3]))


SWEEPS = (
    "latency=1:64:x4",
    "interval=1:3:1",
    "latency=1:64:x4,interval=1:4:x2",
    "in_flight=1:9:4,log_inp_buffer=11:12,latency=10:30:10",
)


def _figures(seed: int) -> str:
    """What `tandem utilization` draws: bars, points below the roofline, lines of a sweep."""
    random = Random(f"figures {seed}")
    config = load_config(random.choice(("small8", "pynq")))
    memory = parse_memory(random.choice(random_pages.MEMORIES))
    rows = _rows(random, _layers(random), config.macs)
    charts: list[Any] = [bars.styled_chart(rows, config, memory)]
    said = []
    try:
        charts.append(roofline_chart.chart(rows, config, memory))
    except PageError as error:
        said.append(str(error))
    axes = parse_axes(random.choice(SWEEPS))
    swept = []
    for at in points(axes):
        machine, _ = machine_at(at, config, memory)
        fits = random.random() < 0.8
        measured = tuple(_rows(random, [row.layer for row in rows], machine.macs))
        swept.append(SweptPoint(at, measured if fits else (), None if fits else "too small"))
    charts.append(sweep_chart.styled_chart(SweptPoints(axes, tuple(swept), config, memory)))
    return "\n".join([*said, *(_plain(json.dumps(chart.to_dict(), indent=0)) for chart in charts)])


def test_figures(recorded: Callable[[str, Sequence[str]], None]) -> None:
    recorded("recorded/pages/figures.txt", [_figures(seed) for seed in range(DRAWS)])

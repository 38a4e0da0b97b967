"""The front and what surrounds a machine, as text."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tandem.compiler.search.explanation import Explanation, Step
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.scripts.search.table import print_explanation, print_front
from tests.support.compiler.search.search_points import point

TIMES = (Objective.MILLISECONDS, Objective.AREA)


def clocked(one: Point, mhz: float, source: str) -> Point:
    return replace(one, front=True, estimate=replace(one.estimate, mhz=mhz, clock_source=source))


def front(points: list[Point], objectives: tuple[Objective, ...] = TIMES) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_front(console, points, points[-1], objectives, 1, 1.0)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_clocks_of_a_model_are_shown() -> None:
    points = [clocked(point(5_000, 900.0), 81.26, "model")]
    points.append(clocked(point(9_000, 500.0), 75.0, "model"))
    text = front(points)
    assert "MHz" in text
    assert "81.3" in text
    assert "75.0" in text
    assert "assumed" not in text


@pytest.mark.parametrize(
    ("source", "objectives", "said"),
    [
        ("assumed", TIMES, True),
        ("given", TIMES, False),
        ("assumed", (Objective.CYCLES, Objective.AREA), False),
    ],
)
def test_an_assumed_clock_is_named(
    source: str, objectives: tuple[Objective, ...], said: bool
) -> None:
    text = front([clocked(point(5_000, 900.0), 100.0, source)], objectives)
    assert ("milliseconds at 100 MHz, which is assumed" in text) is said


@pytest.mark.parametrize("source", ["model", "given"])
def test_steps_change_the_clock_that_a_model_says(source: str) -> None:
    center = clocked(point(5_000, 900.0), 80.0, source)
    larger = clocked(point(4_000, 990.0, log_inp_buffer=14), 76.0, source)
    steps = (
        Step(("log_inp_buffer",), up=True, point=larger),
        Step(("bus_bits",), up=True, point=None, reason="too wide"),
    )
    console = Console(file=io.StringIO(), width=200)
    print_explanation(console, Explanation(center, steps), (Objective.CYCLES, Objective.AREA))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "-20.0%" in text
    assert ("-5.0%" in text) is (source == "model")
    assert "bus_bits up: too wide" in text

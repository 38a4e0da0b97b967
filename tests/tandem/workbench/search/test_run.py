"""Parts of a search for machines: what is spread, the order of the front, and its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tandem.compiler.search.estimates import Estimate
from tandem.compiler.search.objectives import Costs, Objective
from tandem.compiler.search.points import Point
from tandem.compiler.search.results import Measured
from tandem.compiler.search.work import StreamWork
from tandem.hw.config_files import load_config
from tandem.workbench.search.run import Done, _front, spread

TINY = load_config("tiny")


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (1, [10]),
        (2, [10, 60]),
        (3, [10, 30, 60]),
        (4, [10, 30, 40, 60]),
        (5, [10, 20, 30, 50, 60]),
        (6, [10, 20, 30, 40, 50, 60]),
        (7, [10, 20, 30, 40, 50, 60]),
    ],
)
def test_an_even_spread(count: int, wanted: list[int]) -> None:
    # Halves are rounded to even positions.
    assert spread(count, [10, 20, 30, 40, 50, 60]) == wanted


def test_a_spread_of_few() -> None:
    assert spread(1, [5]) == [5]
    assert spread(3, []) == []


def point(cycles: float, area: float, *, front: bool, digest: str = "") -> Point:
    work = (StreamWork(digest, ()),) if digest else ()
    costs = Costs(cycles, cycles / 2, area, 3.0, 4.0) if cycles else None
    measured = Measured((int(cycles),), work, "" if cycles else "no")
    return Point(TINY, measured, Estimate(area, "model", 100.0, "given"), costs, front)


POINTS = (
    point(30, 5, front=True, digest="a"),
    point(0, 1, front=False),
    point(10, 9, front=True, digest="b"),
    point(10, 7, front=False, digest="a"),
    point(10, 8, front=True, digest="a"),
)


def test_the_front_in_the_order_of_objectives() -> None:
    class Asked:
        objectives = (Objective.CYCLES, Objective.AREA)

    assert _front(POINTS, cast(Any, Asked())) == [4, 2, 0]
    Asked.objectives = (Objective.AREA, Objective.CYCLES)
    assert _front(POINTS, cast(Any, Asked())) == [0, 4, 2]


class Stated:
    """Something with a stated JSON."""

    def __init__(self, said: object) -> None:
        self._said = said

    def as_json(self) -> object:
        return self._said


def test_json() -> None:
    learned = cast(Any, Stated("learned"))
    done = Done(POINTS, POINTS[0], 1.5, learned)
    assert done.streams == 2
    assert done.as_json() == {
        "points": [each.as_json() for each in POINTS],
        "baseline": POINTS[0].as_json(),
        "evaluated": 5,
        "streams": 2,
        "seconds": 1.5,
        "samples": "learned",
    }
    more = Done(
        *(POINTS, POINTS[0], 1.5, learned, {}, cast(Any, Stated("why"))),
        exported=(Path("a"), Path("b/c")),
    )
    assert more.as_json() == {**done.as_json(), "explain": "why", "exported": ["a", "b/c"]}

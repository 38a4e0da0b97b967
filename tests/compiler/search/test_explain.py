"""Machines around another one, and the machine of a front that is explained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tandem.compiler.errors import SearchError
from tandem.compiler.search.estimates import Estimate
from tandem.compiler.search.explain import explain, indices_of, knee
from tandem.compiler.search.objectives import Costs, Objective
from tandem.compiler.search.points import Point
from tandem.compiler.search.results import Measured
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import ConfigError

TINY = load_config("tiny")
BOTH = (Objective.CYCLES, Objective.AREA)


def point(
    config: HardwareConfig, cycles: float = 1.0, area: float = 1.0, *, front: bool = True
) -> Point:
    costs = Costs(cycles, 1.0, area, 1.0, 1.0)
    measured = Measured((), (), f"said of {config.name}")
    return Point(config, measured, Estimate(area, "model", 1.0, "given"), costs, front)


def test_the_least_product_of_objectives() -> None:
    points = [
        *(point(TINY, 10, 10), point(TINY, 3, 30), point(TINY, 30, 3)),
        point(TINY, 1, 1, front=False),
    ]
    assert knee(points, BOTH) is points[1]
    assert knee(points, (Objective.AREA,)) is points[2]
    # Nothing is as small as a number may be.
    points.append(point(TINY, 0.0, 1e6))
    assert knee(points, BOTH) is points[4]
    with pytest.raises(SearchError, match=r"^no machine of the search can run the networks"):
        knee(points[3:4], BOTH)


@dataclass(frozen=True)
class Dimension:
    """A field of a space."""

    fields: tuple[str, ...]
    values: tuple[int, ...]


class Space:
    """Machines of two numbers, of which one pair is impossible; names say which they are."""

    name = "toy"
    dimensions = (Dimension(("first",), (0, 1, 2)), Dimension(("second", "third"), (0, 1)))

    def indices(self, config: HardwareConfig) -> tuple[int, ...] | None:
        found = re.fullmatch(r"m(\d)(\d)", config.name)
        return None if found is None else (int(found[1]), int(found[2]))

    def machine(self, indices: Sequence[int]) -> HardwareConfig:
        first, second = indices
        if (first, second) == (2, 1):
            raise ConfigError("impossible")
        return TINY.replace(name=f"m{first}{second}")


class Measuring:
    """A search that measures what it is asked for."""

    proposer = type("Proposer", (), {"space": Space()})()

    def measured_points(self, machines: Sequence[HardwareConfig]) -> list[Point]:
        return [point(machine) for machine in machines]


def explained(name: str) -> tuple[str, list[tuple[tuple[str, ...], bool, str | None, str]]]:
    found = explain(cast(Any, Measuring()), TINY.replace(name=name))
    steps = [
        (step.fields, step.up, None if step.point is None else step.point.config.name, step.reason)
        for step in found.steps
    ]
    return found.center.config.name, steps


FIRST, REST = ("first",), ("second", "third")


def test_one_step_down_and_one_up_of_each_field() -> None:
    assert explained("m11") == (
        "m11",
        [
            (FIRST, False, "m01", "said of m01"),
            (FIRST, True, None, "impossible"),
            (REST, False, "m10", "said of m10"),
        ],
    )
    assert explained("m00") == (
        "m00",
        [(FIRST, True, "m10", "said of m10"), (REST, True, "m01", "said of m01")],
    )
    assert explained("m20") == (
        "m20",
        [(FIRST, False, "m10", "said of m10"), (REST, True, None, "impossible")],
    )


def test_machines_of_no_space() -> None:
    space = cast(Any, Space())
    assert indices_of(space, TINY.replace(name="m21")) == (2, 1)
    with pytest.raises(SearchError, match=r"^tiny is no machine of the space toy$"):
        indices_of(space, TINY)

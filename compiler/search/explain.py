"""What each field of a machine costs and brings, one step up and one down."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from tandem.compiler.errors import SearchError
from tandem.compiler.search.explanation import Explanation, Step
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.compiler.search.session import Search
from tandem.compiler.search.space import Space
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError


def knee(points: Sequence[Point], objectives: Sequence[Objective]) -> Point:
    """The machine of a front with the least product of its objectives.

    Raises
    ------
    SearchError
        No machine can run the networks.
    """
    front = [point for point in points if point.front]
    if not front:
        raise SearchError("no machine of the search can run the networks: nothing to explain")

    def product(point: Point) -> float:
        assert point.costs is not None, "on the front"
        return sum(log(max(value, 1e-12)) for value in point.costs.values(objectives))

    return min(front, key=product)


def explain(search: Search, config: HardwareConfig) -> Explanation:
    """Measure a machine and those around it.

    Raises
    ------
    SearchError
        The machine is not in the space.
    """
    space = search.proposer.space
    indices = indices_of(space, config)
    around = [
        (dimension.fields, up, (*indices[:at], indices[at] + (1 if up else -1), *indices[at + 1 :]))
        for at, dimension in enumerate(space.dimensions)
        for up in (False, True)
        if 0 <= indices[at] + (1 if up else -1) < len(dimension.values)
    ]
    machines: list[HardwareConfig | str] = [_machine(space, other) for _, _, other in around]
    possible = [machine for machine in machines if isinstance(machine, HardwareConfig)]
    center, *found = search.measured_points([space.machine(indices), *possible])
    points = iter(found)
    steps = []
    for (fields, up, _), machine in zip(around, machines, strict=True):
        if isinstance(machine, str):
            steps.append(Step(fields, up, None, machine))
            continue
        point = next(points)
        steps.append(Step(fields, up, point, point.measured.reason))
    return Explanation(center, tuple(steps))


def indices_of(space: Space, config: HardwareConfig) -> tuple[int, ...]:
    """The numbers of a machine's values in a space; raises `SearchError` if it is not in it."""
    indices = space.indices(config)
    if indices is None:
        raise SearchError(f"{config.name} is no machine of the space {space.name}")
    return indices


def _machine(space: Space, indices: tuple[int, ...]) -> HardwareConfig | str:
    """A machine, or why there is none."""
    try:
        return space.machine(indices)
    except ConfigError as error:
        return str(error)

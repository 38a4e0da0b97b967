"""Pareto fronts and hypervolumes, against plain definitions."""

from __future__ import annotations

import random
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.search.front import dominates, hypervolume, pareto_front

GRID = 6
coordinates = st.integers(0, GRID - 1).map(float)


def points_of(objectives: int) -> st.SearchStrategy[list[tuple[float, ...]]]:
    return st.lists(st.tuples(*[coordinates] * objectives), max_size=12)


@given(st.integers(1, 4).flatmap(points_of))
def test_the_front_is_what_nothing_dominates(points: list[tuple[float, ...]]) -> None:
    wanted = {point for point in points if not any(dominates(other, point) for other in points)}
    front = pareto_front(points)
    assert {points[at] for at in front} == wanted
    # Of equal points one, the first.
    assert len(front) == len(wanted)
    assert all(points.index(points[at]) == at for at in front)


@given(st.integers(1, 3).flatmap(points_of))
def test_the_volume_is_the_number_of_cells(points: list[tuple[float, ...]]) -> None:
    objectives = len(points[0]) if points else 2
    cells = sum(
        any(all(a <= b for a, b in zip(point, cell, strict=True)) for point in points)
        for cell in product(range(GRID), repeat=objectives)
    )
    assert hypervolume(points, (float(GRID),) * objectives) == cells


def test_points_beyond_the_corner_count_for_nothing() -> None:
    assert hypervolume([(1.0, 7.0), (6.0, 0.0)], (6.0, 6.0)) == 0
    assert hypervolume([], (6.0, 6.0)) == 0


def test_more_points_never_lose_volume() -> None:
    chance = random.Random(1)
    points = [tuple(chance.random() for _ in range(3)) for _ in range(60)]
    volumes = [hypervolume(points[:count], (1.0, 1.0, 1.0)) for count in range(60)]
    assert all(before <= after + 1e-12 for before, after in pairwise(volumes))
    assert volumes[-1] > volumes[1]

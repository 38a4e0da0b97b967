"""The content of a search's page: front, utilisation, bounds and progress, by hand."""

from __future__ import annotations

import pytest

from tandem.compiler.search.objectives import Objective
from tests.support.compiler.search.search_points import point, points, search_page


def test_front_and_valid_machines() -> None:
    page = search_page()
    first, second, third, _, last = points()
    assert page.front == (second, first)
    assert page.valid == (first, second, third, last)
    assert page.values(first) == (9_000, 500.0)


def test_utilisation_is_by_cycles() -> None:
    """281,600 products in 5,000 cycles of 256 multipliers; nothing of a machine that cannot run."""
    page = search_page()
    assert page.utilization(points()[1]) == pytest.approx(281_600 / (5_000 * 256))
    assert page.utilization(points()[3]) is None


def test_bounds_count_layers() -> None:
    assert search_page().bounds(points()[1]) == "array 1, bus 1"
    assert search_page().bounds(points()[3]) == ""


def test_progress_is_of_the_final_volume() -> None:
    """The corner lies a tenth beyond the worst, (10450, 1045): of the machines one by one."""
    found = search_page().progress()
    first = (10_450 - 9_000) * (1_045 - 500)
    both = first + (10_450 - 5_000) * (1_045 - 900) - (10_450 - 9_000) * (1_045 - 900)
    assert [end for end, _ in found] == [1, 2, 3, 4]
    expected = [first / both, 1.0, 1.0, 1.0]
    assert [share for _, share in found] == pytest.approx(expected)
    assert [end for end, _ in search_page().progress(2)] == [2, 4]
    assert search_page(points=(point(0, 1.0),)).progress() == []
    alone = search_page(points=(point(5_000, 1.0),), objectives=(Objective.CYCLES,))
    assert alone.progress(60) == [(1, 1.0)]

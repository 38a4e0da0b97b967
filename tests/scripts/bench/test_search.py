"""The comparison of explorers."""

from __future__ import annotations

import pytest

from tandem.compiler.search.front import Values
from tandem.scripts.bench.search import values, volumes


def test_volumes_are_parts_of_the_whole() -> None:
    found: dict[tuple[str, int], list[Values]] = {
        ("a", 0): [(1.0, 10.0), (10.0, 1.0)],
        ("b", 0): [(10.0, 10.0)],
        ("c", 0): [(1.0, 1.0)],
    }
    table = volumes(found)
    assert table["c", 0] == pytest.approx(1)
    # The corner is (11, 11): two stripes of 10 x 1 that overlap in 1, of 10 x 10.
    assert table["a", 0] == pytest.approx(19 / 100)
    assert table["b", 0] == pytest.approx(1 / 100)


def test_machines_that_cannot_run_have_no_values() -> None:
    points = [{"cycles": 3, "area": 5.0}, {"cycles": None, "area": 1.0}]
    assert values({"points": points}, ["area", "cycles"]) == [(5.0, 3.0)]

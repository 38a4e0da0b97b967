"""Rows and totals."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.workbench.pages.run.layer_rows import rows, totals
from tests.support.workbench.pages.profiles import page, profile


def test_a_row() -> None:
    stem, pool, _ = rows(page())
    assert (stem.number, stem.name, stem.operators) == (1, "stem", "conv2d + requantise")
    assert (stem.moved, stem.least) == (54_321 + 1024, 2048)
    assert stem.times_least == pytest.approx(55_345 / 2048)
    assert stem.gain == pytest.approx(80_321 / 50_851)
    assert (pool.number, pool.operators, pool.macs) == (2, "max_pool", 0)


def test_totals() -> None:
    found = totals(page())
    assert (found.macs, found.least) == (8_765_432 + 51_200, 3 * 2048)
    assert (found.cycles, found.cycles_plain) == (58_757, 88_532)
    assert found.moved == 54_321 + 1024 + 4096 + 6543 + 51_300 + 1024
    assert found.utilization == pytest.approx(8_816_632 / (58_757 * 256))
    assert found.utilization_plain == pytest.approx(8_816_632 / (88_532 * 256))
    assert found.gain == pytest.approx(88_532 / 58_757)
    assert found.cpu_seconds == pytest.approx(0.00175)


@pytest.mark.parametrize(
    "changes",
    [{"layers": (profile("a", macs=9),), "without": (profile("a", macs=9),)}, {"without": None}],
)
def test_what_is_not_known(changes: dict[str, Any]) -> None:
    made = page(**changes)
    found = totals(made)
    assert (found.cycles_plain, found.utilization_plain, found.gain) == (None, None, None)
    assert (found.cycles is None) is not made.has_time
    assert (found.utilization is None) is not made.has_time
    assert [each.gain for each in rows(made)] == [None] * len(made.layers)


def test_nothing_has_to_be_moved() -> None:
    made = page(layers=(profile("a", 5, least=0),), without=None)
    assert rows(made)[0].times_least is None
    assert totals(made).times_least is None

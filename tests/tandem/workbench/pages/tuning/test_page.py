"""Figures of a page that follow from others."""

from __future__ import annotations

from math import inf

import pytest

from tandem.workbench.pages.tuning.page import Search
from tests.support.workbench.pages.tuning_pages import task_report, tuning_page, unmeasured


def test_the_best_so_far() -> None:
    search = Search("grid", (inf, 9.0, 11.0, inf, 7.0, 8.0))
    assert [*search.best()] == [(2, 9.0), (3, 9.0), (4, 9.0), (5, 7.0), (6, 7.0)]
    assert [*Search("grid", (inf,)).best()] == []


def test_gaps_and_gains() -> None:
    task = task_report("a", default=1_200.0, best=1_000.0, bound=800.0)
    assert task.gap == pytest.approx(0.25)
    assert task.default_gap == pytest.approx(0.5)
    assert task.gain == pytest.approx(1.2)


def test_unknown_figures() -> None:
    task = unmeasured("a")
    assert (task.gap, task.default_gap, task.gain) == (None, None, None)
    assert task_report("a", bound=0.0).gap is None
    assert task_report("a", default=inf).gain is None
    assert tuning_page(default=None).gain is None

"""Pairs of bars: runs in order, and what is left out where there is one run."""

from __future__ import annotations

from typing import Any

from tandem.workbench.pages.run.layer_rows import rows
from tandem.workbench.pages.run.paired_bars import (
    hiding_colour,
    hiding_kinds,
    hiding_legend,
    hiding_tooltip,
    offset,
    pairs_height,
    runs,
)
from tandem.workbench.pages.run.style import Hiding
from tests.support.workbench.pages.profiles import page, profile


def shown(part: Any) -> Any:
    """A part of a chart as JSON."""
    return part.to_dict()


HIDDEN, PLAIN = profile("a", 1), profile("a", 2)
ONE = rows(page(layers=(HIDDEN,), without=None))
TWO = rows(page(layers=(HIDDEN,), without=(PLAIN,)))


def test_runs_of_a_layer() -> None:
    assert [*runs(ONE[0])] == [(Hiding.WITH, HIDDEN)]
    assert [*runs(TWO[0])] == [(Hiding.WITHOUT, PLAIN), (Hiding.WITH, HIDDEN)]
    assert hiding_kinds(ONE) == [Hiding.WITH]
    assert hiding_kinds(TWO) == [Hiding.WITHOUT, Hiding.WITH]


def test_one_run_needs_no_legend() -> None:
    one, two = [Hiding.WITH], [Hiding.WITHOUT, Hiding.WITH]
    assert hiding_legend(one) is None
    assert hiding_tooltip(one) == []
    assert hiding_legend(two) is not None
    assert [shown(each)["field"] for each in hiding_tooltip(two)] == ["hiding"]
    found = shown(hiding_colour(two))
    assert found["scale"] == {"domain": ["without", "with"], "range": ["#B4BEC9", "#0072B2"]}
    assert shown(hiding_colour(one))["scale"] == {"domain": ["with"], "range": ["#0072B2"]}


def test_heights_and_offsets() -> None:
    assert (pairs_height(ONE, 3), pairs_height(TWO, 3), pairs_height(TWO, 1, 20)) == (48, 78, 46)
    assert shown(offset(TWO))["sort"] == ["without", "with"]
    assert shown(offset(ONE))["sort"] == ["with"]

"""Spaces list every combination once; choices are columns of numbers or words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.plan.space import Choices, Space, rank_by, tile_sizes
from tandem.compiler.te.knobs import Setting

SPACE = Space({"threads": (2, 1), "order": ("rows", "columns"), "oc": (1, 2, 5)})


def rows(choices: Choices) -> list[dict[str, Setting]]:
    return [choices.choice(row) for row in range(len(choices))]


def test_all_of_them_the_first_knob_slowest() -> None:
    wanted = [
        {"threads": threads, "order": order, "oc": oc}
        for threads, order, oc in product((2, 1), ("rows", "columns"), (1, 2, 5))
    ]
    assert rows(SPACE.choices()) == wanted


def test_knobs_that_are_held() -> None:
    found = SPACE.choices({"threads": (1,), "order": ("columns",)})
    assert rows(found) == [{"threads": 1, "order": "columns", "oc": oc} for oc in (1, 2, 5)]
    beside = SPACE.choices({"oc": (7,), "threads": (4,)})
    assert {each["oc"] for each in rows(beside)} == {7}
    assert {each["threads"] for each in rows(beside)} == {4}
    assert SPACE.knobs["oc"] == (1, 2, 5), "it stays as it is"


def test_no_setting_no_choice() -> None:
    assert len(SPACE.choices({"oc": ()})) == 0


def test_columns() -> None:
    choices = SPACE.choices()
    assert choices["oc"].tolist() == [1, 2, 5] * 4
    assert (
        choices.equals("order", "columns").tolist() == [False, False, False, True, True, True] * 2
    )
    assert not choices.equals("order", "diagonals").any()
    assert choices.equals("threads", 2).tolist() == [True] * 6 + [False] * 6
    with pytest.raises(KeyError, match="ic"):
        choices["ic"]
    with pytest.raises(KeyError, match="ic"):
        choices.equals("ic", 1)


def test_some_of_them() -> None:
    choices = SPACE.choices()
    picked = choices.where(choices["oc"] == 5)
    assert len(picked) == 4
    assert rows(picked) == [each for each in rows(choices) if each["oc"] == 5]
    assert rows(choices.where(np.array([11, 0]))) == [rows(choices)[11], rows(choices)[0]]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"oc": st.integers(1, 9), "order": st.sampled_from(["rows", "columns", "both"])}
        ),
        min_size=1,
    )
)
def test_choices_of_any_list(given_choices: list[dict[str, Setting]]) -> None:
    found = Choices.of(given_choices)
    assert rows(found) == given_choices
    for order in ("rows", "columns", "both", "none"):
        assert found.equals("order", order).tolist() == [
            choice["order"] == order for choice in given_choices
        ]


@given(st.integers(1, 200))
def test_factors(extent: int) -> None:
    """Each is the least that makes as few tiles, and every number of tiles that can be is there."""
    found = tile_sizes(extent)
    counts = [-(-extent // size) for size in found]
    assert (found[0], found[-1]) == (1, extent)
    assert len({*counts}) == len(counts)
    assert {*counts} == {-(-extent // size) for size in range(1, extent + 1)}
    for size, count in zip(found, counts, strict=True):
        assert size == 1 or -(-extent // (size - 1)) > count


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(-2, 2)), min_size=1))
def test_ranked(keys: list[tuple[int, bool, int]]) -> None:
    ranks = rank_by(*(np.array(column) for column in zip(*keys, strict=True)))
    order = sorted({*keys})
    assert ranks.tolist() == [order.index(key) for key in keys]

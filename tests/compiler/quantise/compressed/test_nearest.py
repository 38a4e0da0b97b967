"""Nearest entries of a table, against a search over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.hw.weight_formats import FORMATS, WeightFormat

NUMBERS = arrays(np.float32, st.integers(1, 40), elements=st.floats(-300, 300, width=32))
TABLES = st.lists(st.integers(-128, 127), min_size=4, max_size=4).map(tuple)


def check(form: WeightFormat, numbers: np.ndarray) -> None:
    table = np.array(form.table, np.float64)
    found = NearestEntries.of(form)
    values, codes = found.value(numbers), found.code(numbers)
    assert np.array_equal(table[codes], values)
    apart = np.abs(numbers[:, None].astype(np.float64) - table)
    assert np.array_equal(np.abs(numbers.astype(np.float64) - values), apart.min(1))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@given(numbers=NUMBERS)
def test_nearest_of_a_format(form: WeightFormat, numbers: np.ndarray) -> None:
    check(form, numbers)


@given(TABLES, NUMBERS)
def test_nearest_of_any_table(table: tuple[int, ...], numbers: np.ndarray) -> None:
    check(WeightFormat("any", 2, table), numbers)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_entries_are_their_own_nearest(form: WeightFormat) -> None:
    entries = np.array(form.table, np.float32)
    assert np.array_equal(NearestEntries.of(form).value(entries), entries)


def test_half_way_is_the_greater() -> None:
    form = WeightFormat("far", 1, (-3, 4))
    assert NearestEntries.of(form).value(np.array([0.5, 0.499], np.float32)).tolist() == [4, -3]

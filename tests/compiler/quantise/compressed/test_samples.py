"""Samples that are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.quantise.compressed import samples
from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.compressed.samples import DataSamples

PRODUCT = WeightedProduct("y", "x", np.ones((1, 2)), 0)


def test_only_what_is_named() -> None:
    kept = DataSamples(["x"])
    assert kept.values("x") == kept.values("z") == []
    assert kept.rows("x", PRODUCT) is None
    assert kept.gram("x", PRODUCT) is None
    given = np.array([[1.0, 2.0]])
    kept.add("x", given)
    kept.add("z", given)
    given[0, 0] = 9
    assert [each.tolist() for each in kept.values("x")] == [[[1, 2]]]
    assert kept.values("z") == []


def test_up_to_a_number_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_MOST_ELEMENTS", 4)
    kept = DataSamples(["x"])
    for number in range(4):
        kept.add("x", np.full((1, 3), number))
    # Beside three elements another value is kept, beside six none.
    assert [int(each[0, 0]) for each in kept.values("x")] == [0, 1]
    exact = DataSamples(["x"])
    for _ in range(3):
        exact.add("x", np.zeros((2, 2)))
    assert len(exact.values("x")) == 1


def test_rows_are_taken_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_ROWS", 3)
    kept = DataSamples(["x"])
    for first in (0, 10):
        kept.add("x", np.arange(first, first + 8.0).reshape(4, 2))
    # Two rows of each: 3 / 2, rounded up.
    rows = kept.rows("x", PRODUCT)
    assert rows is not None
    assert rows.tolist() == [[0, 1], [4, 5], [10, 11], [14, 15]]
    gram = kept.gram("x", PRODUCT)
    assert gram is not None
    np.testing.assert_allclose(gram.products, rows.T @ rows / 4)
    grouped = replace(PRODUCT, windows=Conv2d(groups=2))
    assert kept.gram("x", grouped) is None

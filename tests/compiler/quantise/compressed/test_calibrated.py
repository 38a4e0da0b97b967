"""Calibrated rounding: sums by hand, and errors that later columns make good."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed import calibrated
from tandem.compiler.quantise.compressed.calibrated import Gram, calibrated_codes
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.scale_search import Scales, ScaleSearch
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import BINARY, INT4, TERNARY, WeightFormat

Array: TypeAlias = NDArray[Any]

DATA = np.array([[1, 2], [3, -1], [0, 2]], np.float32)


def test_products_of_columns() -> None:
    gram = Gram.of(DATA)
    np.testing.assert_allclose(gram.products, np.array([[10, -1], [-1, 9]]) / 3)
    assert gram.products.dtype == np.float64
    with pytest.raises(QuantisationError, match="calibrated rounding takes at least one row"):
        Gram.of(DATA[:0])


def test_damping_is_a_hundredth_of_the_mean() -> None:
    gram = Gram.of(DATA)
    np.testing.assert_allclose(gram.energies, np.array([10, 9]) / 3 + 0.01 * 19 / 6)
    nothing = Gram.of(np.zeros((2, 3), np.float32))
    assert nothing.energies.tolist() == [1, 1, 1]
    np.testing.assert_allclose(nothing.factor(np.arange(3)), np.eye(3))


def test_errors_of_results() -> None:
    off = np.array([[1.0, 0.0], [0.5, -2.0]])
    # The mean squares of what the data give with these.
    wanted = ((DATA @ off.T) ** 2).mean(0)
    np.testing.assert_allclose(Gram.of(DATA).error(off), wanted)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_factors(order: list[int]) -> None:
    gram = Gram.of(DATA)
    factor = gram.factor(np.array(order))
    assert factor[1, 0] == 0
    damped = gram.products + 0.01 * 19 / 6 * np.eye(2)
    inverse = np.linalg.inv(damped[np.ix_(order, order)])
    np.testing.assert_allclose(factor.T @ factor, inverse, rtol=1e-12)
    # What is asked for stays.
    np.testing.assert_allclose(gram.products, Gram.of(DATA).products)


def plain(
    rows: Array, search: ScaleSearch, scales: Scales, gram: Gram, order: list[int]
) -> tuple[Array, Array]:
    """Codes and integer scales, column by column with the inverse itself (Optimal Brain Surgeon):
    what is left of it loses the column that is rounded."""
    left, codes = rows.astype(np.float64), np.zeros(rows.shape, np.uint8)
    groups = scales.groups.copy()
    damping = 0.01 * gram.products.diagonal().mean()
    inverse = np.linalg.inv(gram.products + damping * np.eye(len(order)))
    owner, seen = search.grouping.group_of_column, set()
    table = np.array(search.form.table, np.float64)
    for column in order:
        group = owner[column]
        if search.form.scaled and group not in seen:
            seen.add(group)
            own = [each for each in order if owner[each] == group]
            groups[:, group] = search.group_scales(
                left[:, own].astype(np.float32), search.weights[own], scales.channels
            )
        steps = groups[:, group] * scales.channels
        off = np.abs(left[:, column, None] - table * steps[:, None])
        codes[:, column] = off.argmin(1)
        error = left[:, column] - table[codes[:, column]] * steps
        left -= error[:, None] * inverse[column] / inverse[column, column]
        inverse -= np.outer(inverse[:, column], inverse[column]) / inverse[column, column]
    return codes, groups


def case(form: WeightFormat, group: int, mode: Mode) -> tuple[Array, ScaleSearch, Scales, Gram]:
    """Six columns, of which data show the fifth most and the first least."""
    rng = np.random.default_rng(0)
    mixed = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6))
    gram = Gram.of((mixed * [0.1, 1.0, 0.5, 2.0, 3.0, 0.7]).astype(np.float32))
    rows = rng.standard_normal((5, 6)).astype(np.float32)
    grouping = Grouping((5, 6), group)
    search = ScaleSearch(form, grouping, gram.energies, np.zeros(5), mode)
    return rows, search, search.best(rows), gram


@pytest.mark.parametrize(("form", "group"), [(TERNARY, 6), (BINARY, 6), (INT4, 6), (INT4, 2)])
def test_against_the_inverse_itself(form: WeightFormat, group: int) -> None:
    rows, search, scales, gram = case(form, group, Mode.POW2)
    energies = gram.products.diagonal()
    groups = energies.reshape(-1, group).mean(1)
    # Groups of the most energy first, and columns within a group.
    order = sorted(range(6), key=lambda at: (-groups[at // group], -energies[at]))
    codes, found = calibrated_codes(rows, search, scales, gram)
    wanted, integers = plain(rows, search, scales, gram, order)
    np.testing.assert_array_equal(found.groups, integers)
    table = np.array(form.table)
    np.testing.assert_array_equal(table[codes], table[wanted])
    np.testing.assert_array_equal(found.channels, scales.channels)


def test_channels_are_fitted_last() -> None:
    rows, search, scales, gram = case(TERNARY, 6, Mode.MULTIPLIER)
    codes, found = calibrated_codes(rows, search, scales, gram)
    values = np.array(TERNARY.table, np.float64)[codes]
    root = np.linalg.cholesky(gram.products).T
    for row, own, channel in zip(rows, values, found.channels, strict=True):
        (best,), *_ = np.linalg.lstsq((root @ own)[:, None], root @ row, rcond=None)
        assert channel == pytest.approx(best, rel=1e-6)
    # What is under the least stays as it was.
    bounded = replace(search, least=np.full(5, 1e9))
    _, kept = calibrated_codes(rows, bounded, scales, gram)
    np.testing.assert_array_equal(kept.channels, scales.channels)


def test_blocks_push_their_errors_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for form, group in ((TERNARY, 6), (INT4, 3)):
        rows, search, scales, gram = case(form, group, Mode.POW2)
        whole, _ = calibrated_codes(rows, search, scales, gram)
        for size in (1, 2, 4):
            monkeypatch.setattr(calibrated, "_BLOCK", size)
            parts, _ = calibrated_codes(rows, search, scales, gram)
            np.testing.assert_array_equal(parts, whole)
        monkeypatch.undo()

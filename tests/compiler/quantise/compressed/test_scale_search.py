"""The search for scales: within bounds, against all scales that there are, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.scale_search import Scales, ScaleSearch
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import BINARY, INT4, TERNARY, WeightFormat

Rows = NDArray[np.float32]
GROUPING = Grouping((3, 8), 4)
ONES = np.ones(8)


def search(
    form: WeightFormat = INT4,
    weights: NDArray[np.float64] = ONES,
    least: float = 0.0,
    mode: Mode = Mode.MULTIPLIER,
    grouping: Grouping = GROUPING,
) -> ScaleSearch:
    return ScaleSearch(form, grouping, weights, np.full(grouping.shape[0], least), mode)


def rows_of(seed: int) -> Rows:
    random = np.random.default_rng(seed)
    spread = np.repeat(random.uniform(0.2, 3.0, (3, 2)), 4, axis=1)
    return (random.standard_normal((3, 8)) * spread).astype(np.float32)


def error(rows: Rows, form: WeightFormat, steps: NDArray[np.float64], weights: object) -> float:
    """The weighted squared error of a row that is rounded to the nearest entries, in float64."""
    entries = np.array(form.table)[None, :] * steps[:, None]
    nearest = np.abs(entries - rows[:, None]).min(1)
    return float((nearest**2 * weights).sum())


def errors(
    found: Scales,
    rows: Rows,
    form: WeightFormat,
    weights: NDArray[np.float64],
    grouping: Grouping = GROUPING,
) -> list[float]:
    steps = found.groups[:, grouping.group_of_column] * found.channels[:, None]
    return [error(row, form, own, weights) for row, own in zip(rows, steps, strict=True)]


def least_error(row: Rows, weights: NDArray[np.float64], size: int) -> float:
    """The least error over a fine grid of scales of a channel, and all scales of groups."""
    largest = float(np.abs(row).max()) / max(map(abs, INT4.table)) / INT4.largest_scale
    scales = range(1, INT4.largest_scale + 1)
    return min(
        sum(
            min(
                error(
                    row[first : first + size],
                    INT4,
                    np.full(size, largest * factor * scale),
                    weights[first : first + size],
                )
                for scale in scales
            )
            for first in range(0, len(row), size)
        )
        for factor in np.linspace(0.6, 1.6, 21)
    )


def test_errors_are_near_the_least_ones() -> None:
    wide, random = Grouping((3, 64), 16), np.random.default_rng(5)
    spread = np.repeat(random.uniform(0.2, 3.0, (3, 4)), 16, axis=1)
    rows = (random.standard_normal((3, 64)) * spread).astype(np.float32)
    weights = random.uniform(0.2, 5.0, 64)
    found = search(weights=weights, grouping=wide).best(rows)
    own = errors(found, rows, INT4, weights, wide)
    least = [least_error(row, weights, 16) for row in rows]
    for found_one, best in zip(own, least, strict=True):
        assert 0.95 * best <= found_one <= 1.35 * best


def test_what_counts_more_is_nearer() -> None:
    rows = rows_of(1)
    first, last = np.ones(8), np.ones(8)
    first[:4] = last[4:] = 1000.0
    for weights in (first, last):
        found = search(weights=weights).best(rows)
        other = search(weights=first + last - weights).best(rows)
        assert sum(errors(found, rows, INT4, weights)) < sum(errors(other, rows, INT4, weights))


@pytest.mark.parametrize("mode", Mode)
def test_weights_that_the_format_has_are_kept(mode: Mode) -> None:
    channels, groups = np.array([0.5, 0.25, 0.125]), np.array([[1, 3], [7, 2], [5, 15]])
    table = np.array(INT4.table)
    entries = table[np.arange(8)[None, :] * 5 % 16] * groups[:, GROUPING.group_of_column]
    rows = (entries * channels[:, None]).astype(np.float32)
    found = search(mode=mode).best(rows)
    assert errors(found, rows, INT4, ONES) == pytest.approx([0, 0, 0], abs=1e-9)
    # Of channels whose scales are no powers of two, only where any number is one.
    found = search(mode=mode).best(rows * np.float32(1.5))
    exact = np.array(errors(found, rows * np.float32(1.5), INT4, ONES)) < 1e-9
    assert exact.all() == (mode is Mode.MULTIPLIER)


@pytest.mark.parametrize("form", [INT4, TERNARY, BINARY], ids=lambda form: form.name)
@pytest.mark.parametrize("mode", Mode)
def test_scales_are_allowed(form: WeightFormat, mode: Mode) -> None:
    for least in (0.0, 0.75):
        found = search(form, least=least, mode=mode).best(rows_of(2))
        assert (found.channels >= max(least, 1e-9)).all()
        assert found.groups.min() >= 1
        assert found.groups.max() <= form.largest_scale
        if mode is Mode.POW2:
            assert (np.log2(found.channels) % 1 == 0).all()
        if not form.scaled:
            assert (found.groups == 1).all()


def test_channels_of_zeros() -> None:
    rows = rows_of(0)
    rows[1] = 0
    found = search().best(rows)
    assert found.channels[1] > 0
    assert errors(found, rows, INT4, ONES)[1] == 0


def test_a_group_takes_the_best_of_all_scales() -> None:
    columns = rows_of(3)[:, :4]
    channels, weights = np.array([0.05, 0.1, 0.2]), np.array([1.0, 2.0, 3.0, 0.5])
    found = search().group_scales(columns, weights, channels)
    for row, channel, scale in zip(columns, channels, found, strict=True):
        tried = {
            factor: error(row, INT4, np.full(4, channel * factor), weights)
            for factor in range(1, INT4.largest_scale + 1)
        }
        assert tried[int(scale)] == pytest.approx(min(tried.values()), rel=1e-4)


def test_many_channels_are_searched_for_in_parts() -> None:
    count = (1 << 16) // 8 + 3
    whole = Grouping((count, 8), 4)
    random = np.random.default_rng(0)
    rows = random.standard_normal((count, 8)).astype(np.float32)
    found = search(TERNARY, grouping=whole).best(rows)
    assert found.channels.shape == (count,)
    last = Grouping((3, 8), 4)
    alone = search(TERNARY, grouping=last).best(rows[-3:])
    assert found.channels[-3:].tolist() == alone.channels.tolist()


def test_what_entries_are_multiplied_with() -> None:
    scales = Scales(np.array([0.5, 2.0, 1.0]), np.array([[1, 2], [3, 4], [5, 6]], np.uint8))
    assert scales.steps(GROUPING).tolist() == [
        [0.5] * 4 + [1.0] * 4,
        [6.0] * 4 + [8.0] * 4,
        [5.0] * 4 + [6.0] * 4,
    ]

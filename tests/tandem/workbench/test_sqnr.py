"""Signals over noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tandem.workbench.sqnr import show_sqnr, sqnr


def test_by_output_over_all_batches() -> None:
    wanted = [{"a": np.array([3.0, 4.0]), "b": np.array([1.0])}, {"a": np.array([5.0, 0.0])}]
    found = [{"a": np.array([3.0, 4.3]), "b": np.array([1.1])}, {"a": np.array([5.0, 0.4])}]
    ratios = sqnr(zip(found, wanted, strict=True))
    assert ratios == {"a": pytest.approx(10 * math.log10(50 / 0.25)), "b": pytest.approx(20)}
    assert show_sqnr(ratios) == "a 23.0 dB, b 20.0 dB"
    assert show_sqnr({"a": ratios["a"]}) == "23.0 dB"


@pytest.mark.parametrize(
    ("found", "wanted", "ratio", "shown"),
    [
        ([1.0, 2.0], [1.0], math.nan, "unknown"),
        ([1.0, 2.0], [1.0, 2.0], math.inf, "no error"),
        ([0.0, 0.0], [0.0, 0.0], math.inf, "no error"),
        ([1.0, 2.0], [0.0, 0.0], -math.inf, "unknown"),
        ([1.0, 2.0], [math.nan, 2.0], math.nan, "unknown"),
        ([1.0, 2.0], [math.inf, 2.0], math.nan, "unknown"),
    ],
)
def test_without_a_number(
    found: list[float], wanted: list[float], ratio: float, shown: str
) -> None:
    ratios = sqnr([({"y": np.array(found)}, {"y": np.array(wanted)})])
    np.testing.assert_equal(ratios["y"], ratio)
    assert show_sqnr(ratios) == shown


def test_classes_have_none() -> None:
    ratios = sqnr([({"y": np.array([1]), "z": np.ones(1)}, {"y": np.array([2]), "z": np.zeros(1)})])
    assert [*ratios] == ["z"]

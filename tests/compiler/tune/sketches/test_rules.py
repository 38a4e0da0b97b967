"""Limits of sketches."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT8, UINT4, DType
from tandem.compiler.tune.sketches.rules import SketchRules


@pytest.mark.parametrize(
    ("bits", "dtype", "lanes"),
    [
        (128, FLOAT32, 4),
        (256, FLOAT64, 4),
        (128, INT8, 16),
        # Types of fewer bits take a byte.
        (128, UINT4, 16),
        (128, BOOL, 16),
        # A register that is shorter than an element.
        (32, FLOAT64, 1),
    ],
)
def test_lanes(bits: int, dtype: DType, lanes: int) -> None:
    assert SketchRules(bits, 16).lanes(dtype) == lanes


def test_defaults() -> None:
    assert SketchRules(128, 16) == SketchRules(128, 16, 1, False, 256, 16, 8, ())

"""Codes, tables and scales of compressed weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.errors import ConfigError
from tandem.hw.weight_formats import BINARY, FORMATS, INT4, MXFP4, NF4, TERNARY, WeightFormat


@pytest.mark.parametrize("weights", FORMATS, ids=lambda weights: weights.name)
def test_scales_up_to_the_largest_keep_all_values_in_int8(weights: WeightFormat) -> None:
    codes = np.arange(1 << weights.bits, dtype=np.uint8)
    for scale in range(weights.largest_scale + 1):
        expected = [value * (scale if weights.scaled else 1) for value in weights.table]
        np.testing.assert_array_equal(weights.widened(codes, np.full_like(codes, scale)), expected)


@pytest.mark.parametrize(
    ("weights", "largest"), [(INT4, 15), (MXFP4, 10), (NF4, 10), (TERNARY, 1), (BINARY, 1)]
)
def test_largest_scales(weights: WeightFormat, largest: int) -> None:
    assert weights.largest_scale == largest


def test_int4_is_twos_complement() -> None:
    assert INT4.table[0b0111] == 7
    assert INT4.table[0b1000] == -8
    assert INT4.table[0b1111] == -1


def test_mxfp4_is_e2m1_doubled() -> None:
    for code, value in enumerate(MXFP4.table):
        exponent, mantissa = code >> 1 & 3, code & 1
        size = 2 ** (exponent - 1) * (1 + mantissa / 2) if exponent else mantissa / 2
        assert value == 2 * (-size if code & 8 else size)


@given(st.integers(0, 15), st.integers(0, 15), st.integers(-128, 127))
def test_products_keep_their_low_eight_bits(code: int, scale: int, entry: int) -> None:
    weights = WeightFormat("own", 4, (entry,) * 16, scaled=True)
    (value,) = weights.widened(np.array([code], np.uint8), np.array([scale], np.uint8))
    assert (int(value) - entry * scale) % 256 == 0


def test_bits_per_weight() -> None:
    assert INT4.bits_per_weight(32) == 4.125
    assert TERNARY.bits_per_weight(32) == 2


@pytest.mark.parametrize(
    ("bits", "table", "words"),
    [
        (3, (0,) * 8, "codes of 3 bits; 1, 2 or 4 are allowed"),
        (2, (0, 1), "a table of 2 entries; codes of 2 bits need 4"),
        (1, (0, 128), "128 is no int8 value"),
    ],
)
def test_refusals(bits: int, table: tuple[int, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        WeightFormat("own", bits, table)

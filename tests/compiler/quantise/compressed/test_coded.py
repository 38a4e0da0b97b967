"""Codes, and the numbers that they stand for."""

from __future__ import annotations

import numpy as np

from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.hw.weight_formats import INT4, TERNARY


def test_numbers() -> None:
    codes = np.array([[1, 7, 15], [8, 0, 2]], np.uint8)
    scales = np.array([[3, 2], [1, 5]], np.uint8)
    coded = CodedWeights(INT4, 2, codes, scales, np.array([0.5, 2.0]))
    # Groups of two input channels, the last of one; 15 is -1, and 8 is -8.
    assert coded.values.tolist() == [[3, 21, -2], [-8, 0, 10]]
    assert coded.values.dtype == np.int8
    assert coded.real.tolist() == [[1.5, 10.5, -1.0], [-16.0, 0.0, 20.0]]
    assert coded.bits == 6 * 4 + 4 * 4
    assert (coded.grouping.shape, coded.grouping.size) == ((2, 3), 2)


def test_kernels_and_no_scales() -> None:
    codes = np.array([0, 1, 2, 3, 3, 2, 1, 0], np.uint8).reshape(2, 2, 2)
    coded = CodedWeights(TERNARY, 2, codes, np.ones((2, 1, 2), np.uint8), np.array([3.0]))
    assert coded.values.reshape(-1).tolist() == [0, 1, -2, -1, -1, -2, 1, 0]
    assert coded.real.tolist() == [[[0, 3], [-6, -3]], [[-3, -6], [3, 0]]]
    # Groups have no scales that are stored.
    assert coded.bits == 8 * 2

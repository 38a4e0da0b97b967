"""The axis of features: rows of them, and numbers for each."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.quantise.features import by_feature, feature_shape


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_numbers_for_each_feature_and_rows_are_of_one_axis(shape: tuple[int, ...]) -> None:
    value = np.random.default_rng(0).standard_normal(shape)
    numbers = np.array([1.0, 2.0, 4.0])
    times = value * numbers.reshape(feature_shape(TensorType(shape, FLOAT32)))
    np.testing.assert_array_equal(by_feature(times, 3), by_feature(value, 3) * numbers)
    assert by_feature(value, 3).shape == (value.size // 3, 3)

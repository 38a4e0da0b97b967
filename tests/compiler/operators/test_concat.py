"""Concatenation equals NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.ir.dtypes import FLOAT32, INT8
from compiler.operators.concat import concat
from compiler.te import placeholder
from tests.support.broadcasts import shapes
from tests.support.operators import evaluate, given_as, numbers, same


@given(
    data=st.data(),
    shape=shapes(least=1),
    extents=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    dtype=st.sampled_from(["float32", "int8", "bool"]),
)
@settings(max_examples=60)
def test_against_numpy(
    data: st.DataObject, shape: tuple[int, ...], extents: list[int], dtype: str
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    along = axis % len(shape)
    arrays = {
        f"x{number}": numbers(number, (*shape[:along], extent, *shape[along + 1 :]), dtype)
        for number, extent in enumerate(extents)
    }
    result = concat([given_as(name, array) for name, array in arrays.items()], axis)
    same(evaluate(result, arrays), np.concatenate(list(arrays.values()), axis))


def test_one_tensor_twice() -> None:
    x = numbers(0, (2, 3))
    tensor = given_as("X", x)
    same(evaluate(concat([tensor, tensor], 0), {"X": x}), np.concatenate([x, x]))


def test_refusals() -> None:
    a = placeholder((2, 3), FLOAT32, "A")
    with pytest.raises(TensorError, match="concat c: there is no tensor"):
        concat([], 0, name="c")
    with pytest.raises(TensorError, match=r"A float32\[2, 3\] has no axis 2: -2..1"):
        concat([a], 2)
    for other in (
        placeholder((2, 4), FLOAT32, "B"),
        placeholder((2, 3, 1), FLOAT32, "B"),
        placeholder((2, 3), INT8, "B"),
    ):
        with pytest.raises(TensorError, match=r"B .* and A float32\[2, 3\] differ beside axis 0"):
            concat([a, other], 0)

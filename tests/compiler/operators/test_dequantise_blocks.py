"""Numbers of blocks, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT4, INT8, INT16, UINT4, UINT8, DType
from tandem.compiler.operators.quantised import dequantise_blocks
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import evaluate, given_as, same


@given(
    dtype=st.sampled_from([INT4, UINT4, INT8, UINT8]),
    zeros=st.sampled_from(["", "integers", "floats"]),
    axis=st.integers(-2, 1),
    block=st.integers(1, 5),
    seed=st.integers(0, 99),
)
@settings(max_examples=25)
def test_blocks(dtype: DType, zeros: str, axis: int, block: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    data = draw.integers(dtype.low, dtype.high + 1, (6, 7)).astype(np.int16)
    shape = [6, 7]
    shape[axis] = -(-shape[axis] // block)
    scale = draw.random(shape, np.float32)
    points = draw.integers(dtype.low, dtype.high + 1, shape).astype(np.int16)
    arrays = {"X": data.astype(dtype.numpy), "S": scale}
    if zeros:
        arrays["Z"] = points.astype(np.float32 if zeros == "floats" else dtype.numpy)
    tensors = [given_as(name, array) for name, array in arrays.items()]
    middle = 0 if zeros else 3
    found = evaluate(dequantise_blocks(*tensors, axis=axis, block=block, middle=middle), arrays)

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, block, axis)[:6, :7]

    centred = data - (spread(points) if zeros else middle)
    same(found, centred.astype(np.float32) * spread(scale))


@pytest.mark.parametrize(
    ("data", "scale", "zero", "block", "message"),
    [
        (INT16, (FLOAT32, 3), None, 2, r"X int16\[2, 5\] in blocks of 2: 8 bits at most"),
        (INT8, (FLOAT32, 3), None, 0, "in blocks of 0"),
        (INT8, (INT8, 3), None, 2, "is not of the kind float"),
        (INT8, (FLOAT32, 2), None, 2, r"S float32\[2, 2\] has to have the extents \[2, 3\]"),
        (INT8, (FLOAT32, 3), UINT8, 2, r"Z uint8\[2, 3\] has to be int8 or float32"),
    ],
)
def test_refusals(
    data: DType, scale: tuple[DType, int], zero: DType | None, block: int, message: str
) -> None:
    tensors = [placeholder((2, 5), data, "X"), placeholder((2, scale[1]), scale[0], "S")]
    if zero is not None:
        tensors.append(placeholder((2, 3), zero, "Z"))
    with pytest.raises(TensorError, match=message):
        dequantise_blocks(*tensors, axis=1, block=block)

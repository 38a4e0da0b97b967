"""Places of the greatest and the least equal ONNX's reference, or NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import TensorError
from compiler.ir.dtypes import BOOL, FLOAT32
from compiler.operators.arg import arg_max, arg_min
from compiler.te import placeholder
from tests.support.operators import evaluate, given_as, numbers, onnx, same


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int32"])
def test_arg(dtype: str, axis: int, keepdims: bool, last: bool) -> None:
    # Few values, so that the best one comes often.
    x = (numbers(0, (4, 5, 6), "uint8") % 3).astype(dtype)
    for operator, name in ((arg_max, "ArgMax"), (arg_min, "ArgMin")):
        result = operator(given_as("X", x), axis, keepdims=keepdims, select_last_index=last)
        expected = onnx(name, x, axis=axis, keepdims=int(keepdims), select_last_index=int(last))
        same(evaluate(result, {"X": x}), expected)


def test_arg_of_nan() -> None:
    x = np.array([[1.0, np.nan, 3.0, np.nan], [-np.inf, -np.inf, -np.inf, -np.inf]], "float32")
    for operator, plain in ((arg_max, np.argmax), (arg_min, np.argmin)):
        result = evaluate(operator(given_as("X", x), 1, keepdims=False), {"X": x})
        same(result, plain(x, axis=1))


def test_refusals() -> None:
    x = placeholder((2, 0, 4), FLOAT32, "X")
    with pytest.raises(TensorError, match=r"arg_max a: X float32\[2, 0, 4\] has no axis 3: -3..2"):
        arg_max(x, 3, name="a")
    with pytest.raises(TensorError, match=r"axis 1 of X .* is empty: nothing to reduce"):
        arg_min(x, 1)
    with pytest.raises(TensorError, match=r"F bool\[2\] is not of the kind int, uint, float"):
        arg_min(placeholder((2,), BOOL, "F"))

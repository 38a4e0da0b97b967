"""Reductions equal ONNX's reference, along any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.frontends.onnx.operators.reductions import REDUCTIONS as CONVERTED
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT32
from tandem.compiler.operators.reduce import (
    REDUCTIONS,
    arg_max,
    arg_min,
    reduce_l1,
    reduce_l2,
    reduce_log_sum,
    reduce_log_sum_exp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    reduce_sum_square,
)
from tandem.compiler.te import Tensor, placeholder
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)

BY_ONNX_NAME = {
    name: next(each for each in REDUCTIONS if each.__name__ == operator)
    for name, (operator, _) in CONVERTED.items()
}
FLOATS_ONLY = ("ReduceLogSum", "ReduceLogSumExp")
# Of integers, ONNX's reference wraps on the way to these, where ours does not: tests of their own.
WIDE = ("ReduceMean", "ReduceL2")


def run(operator: str, x: Array, *args: Any, **attributes: Any) -> Array:
    return evaluate(BY_ONNX_NAME[operator](given_as("X", x), *args, **attributes), {"X": x})


def reference(operator: str, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    given_axes = np.array(axes, "int64")
    result = onnx(operator, x, given_axes, keepdims=int(keepdims), noop_with_empty_axes=1)
    return result.astype(x.dtype)


EVERY: list[tuple[int, ...]] = [(0,), (1,), (-1,), (0, 2), (2, -3), (0, 1, 2)]
AXES: dict[str, list[tuple[int, ...]]] = {
    "float32": EVERY,
    "int32": EVERY,
    "float64": [(0, 2)],
    "uint8": [(0, 2)],
}


@pytest.mark.every(2)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("operator", "dtype", "axes"),
    [
        (operator, dtype, axes)
        for operator in sorted(BY_ONNX_NAME)
        for dtype in AXES
        for axes in AXES[dtype]
        if dtype.startswith("f") or operator not in (*FLOATS_ONLY, *WIDE)
    ],
)
def test_against_onnx(operator: str, dtype: str, axes: tuple[int, ...], keepdims: bool) -> None:
    x = numbers(0, (3, 4, 5), dtype)
    if operator == "ReduceLogSum":
        x = np.abs(x)
    same(run(operator, x, axes, keepdims=keepdims), reference(operator, x, axes, keepdims))


@pytest.mark.parametrize("operator", sorted(BY_ONNX_NAME))
@pytest.mark.parametrize("shape", [(1,), (1, 1), (5,), (2, 3)])
def test_all_axes_are_the_default(operator: str, shape: tuple[int, ...]) -> None:
    x = np.abs(numbers(1, shape)) + np.float32(0.5)
    axes = tuple(range(len(shape)))
    same(run(operator, x), reference(operator, x, axes, True))


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("operator", sorted(BY_ONNX_NAME))
def test_no_axes(operator: str, shape: tuple[int, ...]) -> None:
    """Nothing is joined, but what is done to each element is."""
    x = np.asarray(np.abs(numbers(1, shape)) + np.float32(0.5))
    expected = {
        "ReduceSumSquare": x * x,
        "ReduceLogSum": np.log(x),
    }.get(operator, x)
    same(run(operator, x, ()), np.asarray(expected))


@given(data=st.data(), shape=shapes(smallest=1))
@settings(max_examples=40)
def test_any_axes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    axes = tuple(each for each in range(len(shape)) if data.draw(st.booleans()))
    keepdims = data.draw(st.booleans())
    x = numbers(2, shape, "int64")
    same(run("ReduceSum", x, axes, keepdims=keepdims), np.asarray(x.sum(axes, keepdims=keepdims)))
    same(run("ReduceMin", x, axes, keepdims=keepdims), np.asarray(x.min(axes, keepdims=keepdims)))


def test_empty_axes_that_stay() -> None:
    x = numbers(0, (0, 3))
    same(run("ReduceSum", x, (1,)), np.zeros((0, 1), "float32"))
    same(run("ReduceMax", x, (1,), keepdims=False), np.zeros((0,), "float32"))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_of_bools(axes: tuple[int, ...]) -> None:
    x = np.array([[True, False, True], [True, False, False]])
    same(run("ReduceMax", x, axes), np.asarray(x.any(axes, keepdims=True)))
    same(run("ReduceMin", x, axes), np.asarray(x.all(axes, keepdims=True)))


def test_sums_wrap() -> None:
    x = np.array([100, 100, 100], "int8")
    same(run("ReduceSum", x, keepdims=False), np.array(44, "int8"))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_means_and_norms_of_integers_do_not_wrap(dtype: str, axes: tuple[int, ...]) -> None:
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -(1 << 40)), min(limits.max, 1 << 40)
    x = np.random.default_rng(0).integers(low, high, (3, 4, 5), endpoint=True).astype(dtype)
    x[0], x[:, 0], x[:, :, 0] = high, high, high
    wide = x.astype("float64")
    count = np.prod([x.shape[each] for each in axes])
    total = x.astype("int64").sum(axes, keepdims=True)
    mean = np.where(total < 0, -(-total // count), total // count)
    same(run("ReduceMean", x, axes), mean.astype(dtype))
    root = np.sqrt((wide * wide).sum(axes, keepdims=True))
    expected = np.where(root >= limits.max, limits.max, np.minimum(root, 1 << 62).astype("int64"))
    same(run("ReduceL2", x, axes), expected.astype(dtype))


def test_a_norm_of_small_integers() -> None:
    x = np.array([[3, 4], [100, -20], [-128, 0]], "int16")
    same(run("ReduceL2", x, (1,), keepdims=False), np.array([5, 101, 128], "int16"))


def test_means_of_integers_go_towards_zero() -> None:
    x = np.array([[-7, 0], [7, 0], [1, -2]], "int32")
    same(run("ReduceMean", x, (1,), keepdims=False), np.array([-3, 3, 0], "int32"))


def test_log_sum_exp_does_not_overflow() -> None:
    inf = np.inf
    x = np.array([[1000, 1000], [-1000, -1001], [inf, 0], [-inf, -inf], [-inf, 2], [np.nan, 1]])
    expected = [1000 + np.log(2), -1000 + np.log1p(np.exp(-1)), inf, -inf, 2, np.nan]
    for dtype in ("float32", "float64"):
        result = run("ReduceLogSumExp", x.astype(dtype), (1,), keepdims=False)
        same(result, np.array(expected, dtype))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (reduce_sum, 0),
        (reduce_prod, 1),
        (reduce_l1, 0),
        (reduce_l2, 0),
        (reduce_sum_square, 0),
        (reduce_max, -np.inf),
        (reduce_min, np.inf),
        (reduce_log_sum, -np.inf),
        (reduce_log_sum_exp, -np.inf),
    ],
)
def test_no_elements(operator: Callable[..., Tensor], expected: float, keepdims: bool) -> None:
    x = np.zeros((2, 0, 4), np.float32)
    result = evaluate(operator(given_as("X", x), (1,), keepdims=keepdims), {"X": x})
    same(result, np.full((2, 1, 4) if keepdims else (2, 4), expected, np.float32))


class TestRefusals:
    x = placeholder((2, 0, 4), FLOAT32, "X")

    def test_axes(self) -> None:
        with pytest.raises(
            TensorError, match=r"reduce_sum total: X float32\[2, 0, 4\] has no axis 3: -3..2"
        ):
            reduce_sum(self.x, (3,), name="total")
        with pytest.raises(TensorError, match=r"axes \[0, -3\] of X .* name one axis twice"):
            reduce_sum(self.x, (0, -3))

    def test_empty(self) -> None:
        with pytest.raises(TensorError, match=r"axis 1 of X .* is empty: nothing to reduce"):
            reduce_mean(self.x, (0, 1))

    def test_types(self) -> None:
        flags = placeholder((2,), BOOL, "F")
        for operator in (reduce_sum, reduce_mean):
            with pytest.raises(
                TensorError, match=r"F bool\[2\] is not of the kind int, uint, float"
            ):
                operator(flags)
        for operator in (reduce_log_sum, reduce_log_sum_exp):
            with pytest.raises(TensorError, match=r"N int32\[2\] is not of the kind float"):
                operator(placeholder((2,), INT32, "N"))
        assert reduce_min(flags).dtype == BOOL


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


def test_refusals_of_arg() -> None:
    x = placeholder((2, 0, 4), FLOAT32, "X")
    with pytest.raises(TensorError, match=r"arg_max a: X float32\[2, 0, 4\] has no axis 3: -3..2"):
        arg_max(x, 3, name="a")
    with pytest.raises(TensorError, match=r"axis 1 of X .* is empty: nothing to reduce"):
        arg_min(x, 1)
    with pytest.raises(TensorError, match=r"F bool\[2\] is not of the kind int, uint, float"):
        arg_min(placeholder((2,), BOOL, "F"))

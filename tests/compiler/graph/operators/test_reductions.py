"""Reductions, pooling and norms: types with symbols, defaults, what channels share, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.reductions import (
    Arg,
    AveragePool,
    Epsilon,
    LayerNorm,
    LpPool,
    MaxPool,
    MaxPoolIndex,
    Reduction,
    Softmax,
)
from tandem.compiler.graph.opspec import OpPattern
from tests.support.compiler.graph.calls import refused, type_of, value
from tests.support.compiler.graph.graphs import same_values


def test_defaults() -> None:
    assert Reduction() == Reduction(None, True)
    assert Arg() == Arg(0, True, False)
    plain = ((2,), None, None, None, False)
    assert MaxPool((2,)) == MaxPool(*plain)
    assert AveragePool((2,)) == AveragePool(*plain, False)
    assert LpPool((2,)) == LpPool(*plain, 2)
    assert MaxPoolIndex((2,)) == MaxPoolIndex(*plain, False)
    assert (Softmax(), Epsilon(), LayerNorm()) == (Softmax(-1), Epsilon(1e-5), LayerNorm(-1, 1e-5))


def test_what_may_be_fused() -> None:
    """A reduction that reads its operand twice would compute what is fused with it twice."""
    patterns = {name: OPERATORS[name].pattern for name in OPERATORS if name.startswith("reduce_")}
    assert patterns.pop("reduce_log_sum_exp") is OpPattern.OUT_FUSABLE
    assert set(patterns.values()) == {OpPattern.REDUCTION}


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 2, M]", "reduce_max(x)", "int8[1, 1, 1]"),
        ("x: int8[N, 2, M]", "reduce_max(x, keepdims=False)", "int8[]"),
        ("x: int8[N, 2, M]", "reduce_max(x, axes=[1])", "int8[N, 1, M]"),
        ("x: int8[N, 2, M]", "reduce_max(x, axes=[0], keepdims=False)", "int8[2, M]"),
        ("x: int8[N, 2, M]", "reduce_max(x, axes=[-1, 1], keepdims=False)", "int8[N]"),
        ("x: int8[N, 2, M]", "reduce_max(x, axes=[])", "int8[N, 2, M]"),
        ("x: int8[N, M]", "arg_max(x)", "int64[1, M]"),
        ("x: int8[N, M]", "arg_min(x, axis=1, keepdims=False)", "int64[N]"),
        ("x: float32[N, M, 5]", "max_pool(x, kernel=[2])", "float32[N, M, 4]"),
        ("x: float32[N, M, 2, K]", "global_max_pool(x)", "float32[N, M, 1, 1]"),
        ("x: float32[N, M, K]", "global_average_pool(x)", "float32[N, M, 1]"),
        ("x: float32[N, M]", "softmax(x, axis=-2)", "float32[N, M]"),
        ("x: float32[N, 3, M], s: float32[3]", "batch_norm(x, s, s, s, s)", "float32[N, 3, M]"),
        ("x: float32[N, 3, 4], s: float32[3]", "instance_norm(x, s, s)", "float32[N, 3, 4]"),
        ("x: float32[N, M, 4], s: float32[4]", "layer_norm(x, s)", "float32[N, M, 4]"),
        (
            "x: float32[N, 3, 4], s: float32[3, 4]",
            "layer_norm(x, s, s, axis=1)",
            "float32[N, 3, 4]",
        ),
        ("x: float32[N, M, 4], s: float32[4]", "rms_norm(x, s)", "float32[N, M, 4]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("x: int8[N, 2]", "reduce_max(x, axes=[2])", r"data int8\[N, 2\] has no axis 2: -2..1"),
        ("x: int8[N, 2]", "arg_max(x, axis=-3)", "data .* has no axis -3: -2..1"),
        ("x: float32[N]", "softmax(x, axis=1)", "data .* has no axis 1: -1..0"),
        ("x: float32[1, 1, N]", "max_pool(x, kernel=[1])", "axis 2 of data .* a number, not N"),
        (
            "x: float32[N, 1, 3]",
            "max_pool_index(x, kernel=[1])",
            "axis 0 of data .* a number, not N",
        ),
        ("x: float32[1, N], s: float32[3]", "batch_norm(x, s, s, s, s)", "axis 1 of data .* not N"),
        ("x: float32[1, N, 2], s: float32[2]", "instance_norm(x, s, s)", "axis 1 of data .* not N"),
        ("x: float32[3, N], s: float32[3]", "layer_norm(x, s)", "axis 1 of data .* not N"),
        ("x: float32[N], s: float32[3]", "rms_norm(x, s, axis=1)", "data .* has no axis 1"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)


def test_what_batch_norm_is_per_channel() -> None:
    rule = OPERATORS["batch_norm"].channel_affine
    assert rule is not None
    statistics = [np.array(each, np.float32) for each in ([3, 1], [5, 7], [11, -2], [3, 0])]
    found = rule(statistics, Epsilon(1.0))
    # scale / sqrt(variance + epsilon)
    np.testing.assert_array_equal(found.centre, [11, -2])
    np.testing.assert_array_equal(found.factor, [1.5, 1.0])
    np.testing.assert_array_equal(found.addend, [5, 7])
    assert {each.dtype for each in (found.centre, found.factor, found.addend)} == {np.dtype(float)}


def test_values() -> None:
    x = np.array([[3, 1, 3], [0, 5, 5]], np.float32)
    same_values(value("x: float32[2, 3]", "arg_max(x, axis=1)", x), np.array([[0], [1]]))
    last = "arg_max(x, axis=1, keepdims=False, select_last_index=True)"
    same_values(value("x: float32[2, 3]", last, x), np.array([2, 2]))
    same_values(value("x: float32[2, 3]", "arg_min(x)", x), np.array([[1, 0, 0]]))
    pooled = value("x: float32[1, 2, 3]", "max_pool(x, kernel=[2])", x[None])
    same_values(pooled, np.array([[[3, 3], [5, 5]]], np.float32))

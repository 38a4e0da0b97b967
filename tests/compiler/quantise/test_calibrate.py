"""Calibration: which values are looked at, and what is counted of them."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.verify import verify
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.calibrate import calibrate
from tandem.compiler.quantise.histogram import Histogram
from tandem.compiler.quantise.points import int8_values, return_values
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import network, residual

IMAGE = "x: float32[1, 4, 6, 6], w: float32[4, 4, 1, 1]"


@pytest.mark.parametrize(
    ("params", "lines", "wanted"),
    [
        # What the last layer gives is nobody's operand.
        ("x: float32[1, 4], w: float32[4, 4]", ["y = dense(x, w)"], "x"),
        (
            "x: float32[1, 4], w: float32[4, 4]",
            ["a = sigmoid(x)", "b = relu(a)", "c = flatten(b)", "d = dense(c, w)", "y = relu(d)"],
            "a b c",
        ),
        # Sums and joins are done on integers only for somebody who wants them.
        ("x: float32[1, 4], w: float32[4, 4]", ["a = dense(x, w)", "y = add(a, x)"], "x"),
        (
            "x: float32[1, 4], x2: float32[4, 8], w: float32[4, 8]",
            ["a = concat(x, x, axis=1)", "b = dense(a, w)", "y = dense(b, x)"],
            "x a",
        ),
        ("x: float64[1, 4], w: float64[4, 4]", ["y = dense(x, w)"], ""),
        ("x: float32[1, 4], x2: float32[4, 4]", ["y = dense(x, x2)"], ""),
        ("x: float32[1, 4, 6, 6]", ["y = max_pool(x, kernel=[2, 2])"], "x"),
        # What comes of a convolution is, whoever reads it.
        (IMAGE, ["y = conv2d(x, w)"], "x y"),
        (IMAGE, ["a = conv2d(x, w)", "y = relu(a)"], "x a y"),
        (IMAGE, ["a = conv2d(x, w)", "b = sigmoid(a)", "y = relu(a)"], "x a y"),
        (IMAGE, ["a = conv2d(x, w)", "y = transpose(a, perm=[0, 2, 3, 1])"], "x a"),
        (IMAGE, ["a = conv2d(x, w)", "b = add(a, x)", "y = sigmoid(b)"], "x a b"),
        (IMAGE, ["a = conv2d(x, w)", "b = relu(a)", "y = conv2d(b, w, groups=1)"], "x a b y"),
        ("x: float32[1, 4, 6, 6], w: float32[4, 1, 3, 3]", ["y = conv2d(x, w, groups=4)"], "x y"),
        (IMAGE, ["y = average_pool(x, kernel=[2, 2])"], "x y"),
    ],
)
def test_points(params: str, lines: list[str], wanted: str) -> None:
    text = "\n".join([f"func @f({params}):", *(f"  {each}" for each in lines), "  return y"])
    function = network(text)
    assert int8_values(function, verify(function)) == tuple(wanted.split())


def test_counts_are_those_of_the_values() -> None:
    function = residual(4)
    samples = list(synthetic(function, 3))
    run = NativeRunner()
    found = calibrate(function, samples, run)
    names = tuple(found)
    assert names == int8_values(function, verify(function))
    wanted = {name: Histogram() for name in names}
    for sample in samples:
        values = evaluate(return_values(function, names), sample, run)
        assert isinstance(values, tuple)
        for name, value in zip(names, values, strict=True):
            assert isinstance(value, np.ndarray)
            wanted[name].add(value)
    for name in names:
        np.testing.assert_array_equal(found[name].counts, wanted[name].counts)
        assert found[name].counts.sum() > 0


def test_costs_are_those_of_the_tensor_s_values() -> None:
    text = f"func @f({IMAGE}):\n  y = conv2d(x, w)\n  return y"
    function, cost = network(text), np.array([1.0, 2.0, 4.0, 0.5])
    samples = list(synthetic(function, 2))
    given = {"x": cost.reshape(4, 1, 1)}
    found = calibrate(function, samples, NativeRunner(), costs=given)
    assert found["x"].costs.sum() == pytest.approx(2 * 36 * cost.sum())
    np.testing.assert_array_equal(found["y"].costs, found["y"].counts)


def test_refusals() -> None:
    function = residual(4)
    run = NativeRunner()
    with pytest.raises(QuantisationError, match="there is no sample"):
        calibrate(function, [], run)
    bad = np.full((1, 3, 4, 4), np.inf, "float32")
    with pytest.raises(QuantisationError, match="calibrating x: a value is infinite or NaN"):
        calibrate(function, [[bad]], run)

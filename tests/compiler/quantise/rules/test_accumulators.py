"""What joins sums: biases, residuals, limits, by hand, and the reason of each that does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Call
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.quantised import Quantised
from tests.support.compiler.quantise.networks import called, network
from tests.support.compiler.quantise.quantised_reference import reference

Array = NDArray[Any]
PARAMS = "x: float32[1, 2, 2, 2], w: float32[2, 2, 1, 1]"
EYE = 127 * np.eye(2).reshape(2, 2, 1, 1)
"""Weights whose scale is 1: sums are 127 times the data's integers."""
CONV = "c = conv2d(x, w)"
X = np.array([[[[1.0, -2.0], [3.0, 0.5]], [[-1.0, 2.0], [0.0, -4.0]]]], np.float32)


def built(
    lines: str,
    params: str = PARAMS,
    scales: dict[str, float] | None = None,
    zero: int = 0,
    **given: Any,
) -> Quantised:
    """The network of the lines: `x` has the scale 0.5, and sums of layers that of 4; `zero` is the
    zero point of `x`."""
    text = "".join(f"  {line}\n" for line in lines.split("; "))
    last = lines.split("; ")[-1].split(" = ")[0]
    function = network(f"func @f({params}):\n{text}  return {last}\n", w=EYE, **given)
    own = {"x": 0.5, "c": 4.0, "y": 4.0} if scales is None else scales
    chosen = {name: Scale(step, zero if name == "x" else 0) for name, step in own.items()}
    return apply_scales(function, chosen, QuantiseOptions())


def reasons(found: Quantised, name: str = "y") -> list[str]:
    return [
        reason.text
        for let in found.function.body.lets
        if let.name == name
        for reason in let.reasons
    ]


def result(found: Quantised, *inputs: Array) -> Array:
    return reference(found.function, [X, *inputs])["y"]


def test_constants_are_added_to_the_bias() -> None:
    bias = np.array([100.0, -40.0]).reshape(2, 1, 1)
    found = built(f"{CONV}; y = add(c, b)", f"{PARAMS}, b: float32[2, 1, 1]", b=bias)
    assert called(found.function) == ["quantise", "conv2d", "requantise", "dequantise"]
    wanted = np.rint((127 * X + bias) / 4)
    np.testing.assert_allclose(result(found), 4 * wanted.clip(-128, 127), atol=2)
    swapped = built(f"{CONV}; y = add(b, c)", f"{PARAMS}, b: float32[2, 1, 1]", b=bias)
    np.testing.assert_array_equal(result(swapped), result(found))
    total = built(f"{CONV}; y = total(c, b)", f"{PARAMS}, b: float32[2, 1, 1]", b=bias)
    np.testing.assert_array_equal(result(total), result(found))


B = f"{PARAMS}, b: float32[{{}}]"


@pytest.mark.parametrize(
    ("lines", "params", "given", "message"),
    [
        (
            f"{CONV}; y = add(c, b)",
            B.format("2, 2"),
            {"b": np.arange(4.0).reshape(2, 2)},
            "the constant is not a finite number for each channel",
        ),
        (
            f"{CONV}; y = add(c, b)",
            B.format("2, 1, 1"),
            {"b": np.array([1, np.inf]).reshape(2, 1, 1)},
            "the constant exceeds 32 bits in units of the sums",
        ),
        (
            f"{CONV}; r = relu(c); y = add(r, b)",
            B.format("2, 1, 1"),
            {},
            "the sums that it adds a constant to are clipped before, or read elsewhere, too",
        ),
        (
            f"{CONV}; y = add(c, b); z = add(y, c); t = relu(z)",
            B.format("2, 1, 1"),
            {},
            "the sums that it adds a constant to are clipped before, or read elsewhere, too",
        ),
        (
            f"{CONV}; y = add(c, b)",
            B.format("2, 1, 1"),
            {"b": np.array([2e9, 0]).reshape(2, 1, 1)},
            "the constant exceeds 32 bits in units of the sums",
        ),
        (
            "e = exp(x); y = add(e, b)",
            B.format("2, 1, 1"),
            {},
            "it adds a constant to what is no sum of a layer",
        ),
        (
            "e = exp(x); y = add(b, e)",
            B.format("2, 1, 1"),
            {},
            "it adds a constant to what is no sum of a layer",
        ),
        (
            f"{CONV}; y = add(c, xb)",
            f"{PARAMS}, xb: float32[2, 1, 1]",
            {},
            "it adds float32[1, 2, 2, 2] and float32[2, 1, 1]: operands of one shape would help",
        ),
        (
            f"{CONV}; y = total(c, x, x)",
            PARAMS,
            {},
            "it adds 3 values, and two are taken",
        ),
        (
            "e = exp(x); f = log(x); y = add(e, f)",
            PARAMS,
            {},
            "its second operand stays in real numbers",
        ),
        (
            "e = exp(x); y = add(e, x)",
            PARAMS,
            {},
            "its first operand stays in real numbers",
        ),
        ("e = exp(x); y = relu(e)", PARAMS, {}, "its data stays in real numbers"),
        (
            "y = batch_norm(x, xs, b, b, variance)",
            f"{PARAMS}, xs: float32[2], b: float32[2], variance: float32[2]",
            {},
            "its parameters are computed when the network runs",
        ),
    ],
)
def test_reasons(lines: str, params: str, given: dict[str, Any], message: str) -> None:
    assert reasons(built(lines, params, **given)) == [message]


@pytest.mark.parametrize("lines", [f"{CONV}; y = add(c, x)", f"{CONV}; y = add(x, c)"])
def test_residuals_join_sums(lines: str) -> None:
    found = built(lines)
    assert called(found.function) == ["quantise", "conv2d", "requantise_add", "dequantise"]
    np.testing.assert_allclose(result(found), (128 * X).clip(-512, 508), atol=2)


def test_a_residual_of_two_int8_values() -> None:
    found = built("r = max_pool(x, kernel=[1, 1]); y = add(r, x)", scales={"x": 0.5, "y": 0.5})
    names = called(found.function)
    assert "requantise_add" in names
    np.testing.assert_array_equal(result(found), 2 * X)


@pytest.mark.parametrize(
    ("line", "low", "high"),
    [
        ("relu(c)", 0, 508),
        ("clip(c, min=-100.0, max=60.0)", -100, 60),
        ("clip(c, max=60.0)", -512, 60),
        ("clip(c, min=-100.0)", -100, 508),
        ("clip(c)", -512, 508),
    ],
)
def test_limits_join_sums(line: str, low: float, high: float) -> None:
    found = built(f"{CONV}; y = {line}")
    assert "clip" not in called(found.function)
    np.testing.assert_allclose(result(found), (127 * X).clip(low, high), atol=2)


def test_limits_of_int8_values() -> None:
    found = built(
        "m = max_pool(x, kernel=[1, 1]); y = clip(m, min=-1.0, max=1.0)", scales={"x": 0.5}
    )
    assert called(found.function)[-2:] == ["clip", "dequantise"]
    np.testing.assert_array_equal(result(found), X.clip(-1, 1))
    beyond = built(
        "m = max_pool(x, kernel=[1, 1]); y = clip(m, min=-1000.0, max=1000.0)", scales={"x": 0.5}
    )
    calls = [let.value for let in beyond.function.body.lets if isinstance(let.value, Call)]
    (clip,) = [each.attributes for each in calls if each.callee.name == "clip"]
    assert (clip.min, clip.max) == (-128, 127)  # type: ignore[attr-defined]


@pytest.mark.parametrize("zero", [0, 5])
def test_normalisation_with_factors_of_both_signs(zero: int) -> None:
    # Constants are multiples of the steps of the data times the factors.
    scale, bias = np.array([2.0, -3.0]), np.array([1.0, 12.0])
    mean, variance = np.array([0.5, -1.0]), np.array([4.0, 0.25])
    params = "x: float32[1, 2, 2, 2], w: float32[2, 2, 1, 1]"
    names = ("s", "b", "m", "variance")
    params += "".join(f", {name}: float32[2]" for name in names)
    line = "n = batch_norm(x, s, b, m, variance, epsilon=0.0); y = conv2d(n, w)"
    found = built(
        line,
        params,
        {"x": 0.5, "n": 0.25, "y": 64.0},
        zero,
        **dict(zip(names, (scale, bias, mean, variance), strict=True)),
    )
    assert "multiply" in called(found.function)
    by_channel = [each.reshape(2, 1, 1) for each in (scale, bias, mean, variance)]
    normal = (X - by_channel[2]) / np.sqrt(by_channel[3]) * by_channel[0] + by_channel[1]
    np.testing.assert_allclose(result(found), 127 * normal.clip(-32, 31.75), atol=48)
    plain = built(
        line,
        params,
        {"x": 0.5, "n": 0.25, "y": 64.0},
        zero,
        **dict(zip(names, (abs(scale), bias, mean, variance), strict=True)),
    )
    assert "multiply" not in called(plain.function)

"""The NumPy reference equals the operators, and refuses unknown operators."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph import Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.hw.weight_formats import NF4
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.quantise.quantised_reference import REFERENCE, reference

INT8 = "x: int8[2, 4, 6, 5]"

TABLE = ", ".join(map(str, NF4.table))
CASES = [
    ("x: int32[2, 3]", "add(x, x)"),
    ("x: int8[2, 3]", "cast(x, to=int32)"),
    ("x: int8[9, 9]", "clip(x, min=-3, max=40)"),
    ("x: int8[9, 9]", "clip(x, max=4)"),
    ("x: int8[2, 3], y: int8[2, 1]", "concat(x, y, x, axis=1)"),
    (f"{INT8}, w: int8[6, 2, 3, 2], b: int32[6]", "conv2d(x, w, b, groups=2, dilation=[2, 1])"),
    (f"{INT8}, w: int8[4, 1, 2, 2]", "conv2d(x, w, groups=4, strides=[2, 1])"),
    (f"{INT8}, w: int16[3, 4, 1, 3]", "conv2d(x, w, padding=[0, 1, 1, 2], out_dtype=int32)"),
    ("x: int8[4, 7], w: int8[3, 7], b: int32[3]", "dense(x, w, b)"),
    ("x: int32[4, 7], s: float32[7], z: int32[7]", "dequantise(x, s, z)"),
    ("x: int32[5, 7], y: int32[1, 7]", "divide(x, y)"),
    (INT8, "flatten(x, axis=-2)"),
    (INT8, "gather(x, int64[3](1, 0, 1), axis=1)"),
    ("x: int8[3]", "identity(x)"),
    ("x: int8[2, 4, 7], w: int8[7, 3]", "matmul(x, w)"),
    ("x: int32[5, 7], y: int32[1, 7]", "maximum(x, y)"),
    ("x: int32[5, 7], y: int32[1, 7]", "minimum(x, y)"),
    (INT8, "max_pool(x, kernel=[3, 2], strides=[2, 1], padding=[1, 0, 1, 1])"),
    ("x: int32[2, 3], y: int32[3]", "multiply(x, y)"),
    (INT8, "pad(x, pads=[0, 0, 1, 2, 0, 0, 3, 0], value=-7)"),
    ("x: float32[4, 7], s: float32[7], z: uint8[7]", "quantise(x, s, z, to=uint8)"),
    ("x: int32[2, 3, 4]", "reduce_sum(x, axes=[0, 2], keepdims=False)"),
    ("x: int8[9, 9]", "relu(x)"),
    ("x: int32[2, 3], m: int32[3], a: int64[1]", "requantise(x, m, a, shift=3, low=-9, high=300)"),
    (
        "x: int32[2, 3], m: int32[3], a: int64[3], s: int8[2, 3], t: int32[1]",
        "requantise_add(x, m, a, s, t, shift=4, low=-128, high=127)",
    ),
    (INT8, "reshape(x, shape=[0, -1, 3])"),
    ("x: int8[2, 1, 3, 1]", "squeeze(x, axes=[1])"),
    ("x: int8[2, 3]", "subtract(x, x)"),
    (INT8, "transpose(x, perm=[3, 0, 2, 1])"),
    (INT8, "transpose(x)"),
    ("x: int8[2, 3]", "unsqueeze(x, axes=[0, 2])"),
    (INT8, "upsample(x, factors=[2, 3])"),
    ("x: uint4[4, 7], s: uint4[4, 3]", f"widen(x, s, table=[{TABLE}], axis=1, group=3)"),
    ("x: uint2[4, 7]", "widen(x, table=[0, 1, -2, -1])"),
]


@pytest.mark.parametrize(("params", "call"), CASES)
def test_as_the_operators(params: str, call: str) -> None:
    function = graph(f"func @f({params}):\n  out = {call}\n  return out")
    generator = np.random.default_rng(0)
    given = []
    for param in function.params:
        shape, dtype = param.type.static_shape("x"), param.type.dtype.numpy  # type: ignore[union-attr]
        if param.type.dtype.is_narrow:  # type: ignore[union-attr]
            most = 1 << param.type.dtype.bits  # type: ignore[union-attr]
            given.append(generator.integers(0, most, shape).astype(dtype))
            continue
        size = 90 if dtype.kind == "f" or dtype.itemsize > 2 else 128
        low = 0 if (param.name in "ms" and dtype.kind != "i") or dtype.kind == "u" else -size
        given.append((generator.random(shape) * (size - low) + low).astype(dtype))
    if "m:" in params:
        given[1] = np.abs(given[1])
    wanted = evaluate(function, given)
    assert isinstance(wanted, np.ndarray)
    found = reference(function, given)["out"]
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_all_of_it_is_tried() -> None:
    assert {call.partition("(")[0] for _, call in CASES} == set(REFERENCE)


@pytest.mark.parametrize(
    ("params", "value", "message"),
    [
        ("x: float32[2]", "sigmoid(x)", "y is computed by sigmoid, which has no reference"),
        ("x: float32[2]", "(x, x)", "y is no operator's result"),
        ("x: float32[2, 2]", "dense(x, x)", "dense of real numbers has no reference"),
        ("x: int8[1, 1, 4]", "max_pool(x, kernel=[2])", "max_pool of other than plain images"),
        ("x: int8[4]", "pad(x, pads=[1, -1])", "only padding by a constant"),
    ],
)
def test_refusals(params: str, value: str, message: str) -> None:
    function = graph(f"func @f({params}):\n  y = {value}\n  return y")
    (param,) = function.params
    given = np.zeros(param.type.static_shape("x"), param.type.dtype.numpy)  # type: ignore[union-attr]
    with pytest.raises(QuantisationError, match=message):
        reference(function, [given])


def test_sums_that_float64_does_not_hold() -> None:
    function = graph("func @f(x: int64[1, 2]):\n  y = dense(x, x)\n  return y")
    assert function.body.result == Var("y")
    with pytest.raises(QuantisationError, match="not exact in float64"):
        reference(function, [np.full((1, 2), 1 << 30)])

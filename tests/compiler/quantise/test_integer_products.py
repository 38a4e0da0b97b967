"""Products of integers as dense layers: the same integers as ONNX's reference, on the array."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.graph import Constant
from tandem.compiler.graph.visit import substitute
from tandem.compiler.quantise.integer_products import IntegerProducts
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.quantise.stated_layers import share_and_outputs

make = helper.make_node
Array = NDArray[Any]


def outputs_of(made: ModelProto, data: dict[str, Array]) -> list[Array]:
    found: Any = ReferenceEvaluator(made).run(None, data)
    return list(found)


def check(
    nodes: list[NodeProto], data: Array, given: dict[str, Array], wanted: Array | None = None
) -> float:
    """The share of products on the array, where results are those of ONNX's reference, or those
    that are wanted."""
    kind = helper.np_dtype_to_tensor_dtype(data.dtype)
    made = model(nodes, {"x": data.shape}, ["y"], given, dtype=kind)
    if wanted is None:
        (wanted,) = outputs_of(made, {"x": data})
    share, (found,) = share_and_outputs(made, {"x": data}, machine("tiny"))
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == np.int32
    return share


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("zero", [None, 0, 131])
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 7)])
def test_matrices(dtype: type, zero: int | None, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    data: Array = random.integers(limits.min, limits.max + 1, shape).astype(dtype)
    given = {"w": random.integers(-128, 128, (7, 5)).astype(np.int8)}
    names = ["x", "w"]
    if zero is not None:
        given |= {"zx": np.array(zero + limits.min, dtype), "zw": np.array(-3, np.int8)}
        names += ["zx", "zw"]
    assert check([make("MatMulInteger", names, ["y"])], data, given) == 1.0


def test_zero_points_of_rows_and_columns() -> None:
    """By hand, as ONNX's reference does not broadcast zero points of rows."""
    random = np.random.default_rng(1)
    weights = random.integers(0, 256, (7, 5))
    rows, columns = np.array([0, 255, 77]), np.array([0, 255, 128, 9, 127])
    data = random.integers(0, 256, (3, 7))
    numbers = {"w": weights, "zx": rows, "zw": columns}
    given: dict[str, Array] = {name: each.astype(np.uint8) for name, each in numbers.items()}
    nodes = [make("MatMulInteger", ["x", "w", "zx", "zw"], ["y"])]
    wanted = (data - rows[:, None]) @ (weights - columns)
    assert check(nodes, data.astype(np.uint8), given, wanted) == 1.0


@pytest.mark.parametrize(
    ("shape", "weight", "attributes"),
    [
        ((1, 3, 6, 5), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 3, 6, 5), (4, 3, 1, 1), {}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"strides": [2, 1], "pads": [0, 1, 2, 0]}),
        ((1, 3, 9, 9), (4, 3, 3, 3), {"dilations": [2, 3], "strides": [1, 2]}),
        ((1, 20, 5, 5), (20, 1, 3, 3), {"group": 20, "pads": [1, 1, 1, 1]}),
        ((1, 6, 5, 5), (9, 2, 3, 3), {"group": 3}),
        ((1, 3, 12), (4, 3, 3), {"pads": [1, 1]}),
    ],
)
def test_convolutions(
    shape: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    random = np.random.default_rng(2)
    given = {
        "w": random.integers(0, 256, weight).astype(np.uint8),
        "zx": np.array(101, np.uint8),
        "zw": np.array(131, np.uint8),
    }
    data = random.integers(0, 256, shape).astype(np.uint8)
    nodes = [make("ConvInteger", ["x", "w", "zx", "zw"], ["y"], **attributes)]
    assert check(nodes, data, given) == 1.0


@pytest.mark.parametrize("dtype", ["int16", "int32", "float32"])
def test_wider_integers_and_real_numbers_are_no_operands(dtype: str) -> None:
    """They need not fit in 8 bits."""
    function = graph(f"""
func @f(x: {dtype}[3, 2]):
  c = cast(x, to=int32)
  y = matmul(c, int32[2, 1](1, 2))
  return y
""")
    assert IntegerProducts().apply(function) == function


@pytest.mark.parametrize("to", ["int64", "float32"])
def test_integers_of_other_widths_are_multiplied_as_they_are(to: str) -> None:
    """Dense layers' sums have 32 bits."""
    function = graph(f"""
func @f(x: uint8[3, 2], w: {to}[2, 1]):
  c = cast(x, to={to})
  y = matmul(c, w)
  return y
""")
    weight = Constant(np.array([[1], [2]], to))
    params = function.params[:1]
    made = replace(function, params=params, body=substitute(function.body, {"w": weight}))
    assert IntegerProducts().apply(made) == made


def test_products_of_two_that_are_computed_are_the_cpus() -> None:
    """The accelerator gives such products as int8 only."""
    random = np.random.default_rng(3)
    data = random.integers(0, 256, (4, 4)).astype(np.uint8)
    assert check([make("MatMulInteger", ["x", "x"], ["y"])], data, {}) == 0.0


def test_a_scale_that_is_computed_at_run_time() -> None:
    """Quantised when the network runs, as ONNX's reference does: equal but for the order of two
    float32 factors. Zeros have a scale, too."""
    random = np.random.default_rng(4)
    given: dict[str, Array] = {
        "w": random.integers(0, 256, (8, 5)).astype(np.uint8),
        "zw": np.array(120, np.uint8),
        "sw": np.array(0.02, np.float32),
    }
    nodes = [
        make("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        make("MatMulInteger", ["q", "w", "z", "zw"], ["i"]),
        make("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        make("Mul", ["s", "sw"], ["m"]),
        make("Mul", ["f", "m"], ["y"]),
    ]
    made = model(nodes, {"x": (2, 6, 8)}, ["y"], given)
    for scale in (3.0, 1e-3):
        data = {"x": (random.normal(size=(2, 6, 8)) * scale).astype(np.float32)}
        (wanted,) = outputs_of(made, data)
        share, (found,) = share_and_outputs(made, data, machine("small8"))
        np.testing.assert_allclose(found, wanted, 1e-6)
        assert share == 1.0

"""Random layers of ONNX models that state their scales, in all forms that quantisers export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.support.compiler.frontends.onnx_models import model, read_weights

Array = NDArray[Any]

FORMS = {
    "conv1d": ("qdq", "operator", "dynamic"),
    "conv2d": ("qdq", "operator", "dynamic"),
    "conv3d": ("qdq", "operator", "dynamic"),
    "grouped": ("qdq", "operator", "dynamic"),
    "transposed": ("qdq",),
    "transposed1d": ("qdq",),
    "gemm": ("qdq",),
    "matrix": ("qdq", "operator", "dynamic"),
    "tokens": ("qdq", "operator", "dynamic"),
    "columns": ("qdq",),
    "pair": ("qdq", "operator"),
}
"""The forms that each kind of layer is exported in: QDQ, an operator on integers, and with a scale
of the data that is computed when the layer runs."""

_OPERATORS = {"gemm": "Gemm"} | dict.fromkeys(("matrix", "tokens", "columns", "pair"), "MatMul")
_STEP = 0.02
"""The scale of data."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """How a layer is quantised: integer types, and zero points, one for all outputs or several."""

    data_type: str
    data_zero: int
    weight_type: str
    weight_zeros: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StatedLayer:
    """A layer that states its scales.

    Attributes
    ----------
    model
        The layer in the form that was drawn.
    plain
        The layer with the same weights in float32, whose scales are calibrated.
    wanted
        What ONNX's reference gives in the form QDQ; where the scale of the data is computed, sums
        of integers times that scale.
    steps
        The same before it is rounded, in steps of its scale, with the products summed in float64;
        empty if the result is not rounded.
    step
        The scale of the result; 0 if it is not rounded.
    """

    model: ModelProto
    plain: ModelProto
    inputs: dict[str, Array]
    wanted: Array
    steps: Array
    step: float


def stated_layer(kind: str, form: str, numbers: Numbers, relu: bool, seed: int) -> StatedLayer:
    """A layer of small random extents, with integers of the whole range."""
    random = np.random.default_rng(seed)
    shape, weight_shape, axis, attributes = _shapes(kind, random)
    zeros = np.array(numbers.weight_zeros[0])
    if kind != "pair" and len(numbers.weight_zeros) > 1:
        zeros = np.resize(numbers.weight_zeros, weight_shape[axis])
    along = [-1 if zeros.ndim and each == axis else 1 for each in range(len(weight_shape))]
    weights = _integers(random, numbers.weight_type, weight_shape)
    steps = random.uniform(0.01, 0.05, zeros.shape).astype(np.float32)
    centred = weights.astype(np.int64) - zeros.reshape(along)
    real = (centred * steps.reshape(along)).astype(np.float32)
    data = _integers(random, numbers.data_type, shape).astype(np.int64) - numbers.data_zero
    inputs = {"x": (data * _STEP).astype(np.float32)} | ({"v": real} if kind == "pair" else {})

    named = _OPERATORS.get(kind, "ConvTranspose" if "transposed" in kind else "Conv")

    def operator(*operands: str, to: str) -> NodeProto:
        # Weights of columns are on the left.
        given = operands[::-1] if kind == "columns" else operands
        return helper.make_node(named, given, [to], **attributes)

    plain_given = {} if kind == "pair" else {"v": real}
    plain = _model([operator("x", "v", to="y")], inputs, plain_given)
    (exact,) = _reference(plain, inputs)
    limits = np.iinfo(numbers.data_type)
    step = np.float32(max(float(np.abs(exact).max(initial=0)) / 100, 1e-3))
    given: dict[str, Array] = {
        "w": weights,
        "sw": steps,
        "zw": zeros.astype(numbers.weight_type),
        "sx": np.array(_STEP, np.float32),
        "zx": np.array(numbers.data_zero, numbers.data_type),
        "sy": np.array(step, np.float32),
        "zy": np.array((limits.min + limits.max) // 2 + 20, numbers.data_type),
    }
    node = helper.make_node
    quantised = [node("QuantizeLinear", ["x", "sx", "zx"], ["xq"])]
    if kind == "pair":
        quantised.append(node("QuantizeLinear", ["v", "sw", "zw"], ["wq"]))
        del given["w"]
    whole = "wq" if kind == "pair" else "w"
    after = [node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])]
    qdq = [
        *quantised,
        node("DequantizeLinear", ["xq", "sx", "zx"], ["xr"]),
        node("DequantizeLinear", [whole, "sw", "zw"], ["wr"], axis=axis),
        operator("xr", "wr", to="c"),
        *([node("Relu", ["c"], ["r"])] if relu else []),
        node("QuantizeLinear", ["r" if relu else "c", "sy", "zy"], ["yq"]),
        *after,
    ]
    match form:
        case "operator":
            called = "QLinearConv" if named == "Conv" else "QLinearMatMul"
            operands = ["xq", "sx", "zx", whole, "sw", "zw", "sy", "zy"]
            nodes = [*quantised, node(called, operands, ["yq"], **attributes), *after]
        case "dynamic":
            called = "ConvInteger" if named == "Conv" else "MatMulInteger"
            nodes = [
                node("DynamicQuantizeLinear", ["x"], ["xq", "s", "z"]),
                node(called, ["xq", "w", "z", "zw"], ["i"], **attributes),
                node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
                node("Mul", ["f", "s"], ["y"]),
            ]
        case _:
            nodes = qdq
    made = _model(nodes, inputs, given)
    if form == "dynamic":
        read = _model(
            [helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], inputs, {}
        )
        whole_data, scale, zero = _reference(read, inputs, ["y", "s", "z"])
        centred_data = {"x": whole_data.astype(np.float64) - zero}
        # Integers in float64 are exact; ONNX's reference has no zero points of channels.
        product = _model(
            [operator("x", "v", to="y")], centred_data, {"v": centred.astype(np.float64)}
        )
        (sums,) = _reference(product, centred_data)
        wanted = sums.astype(np.float32) * scale
        return StatedLayer(made, plain, inputs, wanted, np.zeros(0), 0.0)
    (wanted,) = _reference(_model(qdq, inputs, given), inputs)
    centred_data = {"x": data.astype(np.float64)}
    scaled = (
        centred
        * np.float64(np.float32(_STEP))
        * steps.astype(np.float64).reshape(along)
        / float(step)
    )
    unrounded = {} if kind == "pair" else {"v": scaled}
    operands64 = centred_data | ({"v": scaled} if kind == "pair" else {})
    (in_steps,) = _reference(
        _model([operator("x", "v", to="y")], operands64, unrounded), operands64
    )
    return StatedLayer(made, plain, inputs, wanted, in_steps, float(step))


def _shapes(
    kind: str, random: np.random.Generator
) -> tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]:
    """The shapes of data and weights, the axis of the weights' outputs, and attributes."""
    inputs, outputs, rows, columns = (int(each) for each in random.integers(1, [24, 24, 9, 9]))
    pad, size = int(random.integers(0, 2)), int(random.choice([1, 3]))
    image = (rows + 2, columns + 2)
    match kind:
        case "conv1d":
            return (1, inputs, columns + 2), (outputs, inputs, size), 0, {"pads": [pad] * 2}
        case "conv2d":
            strides = [int(random.integers(1, 3))] * 2
            given = {"pads": [pad] * 4, "strides": strides}
            return (1, inputs, *image), (outputs, inputs, size, size), 0, given
        case "conv3d":
            given = {"pads": [pad, 1, 1] * 2, "strides": [1 + pad, 1, 1]}
            return (1, inputs // 4 + 1, 4, *image), (outputs, inputs // 4 + 1, size, 3, 3), 0, given
        case "grouped":
            groups, own = int(random.integers(2, 9)), int(random.integers(1, 3))
            grouped: dict[str, Any] = {"group": groups, "pads": [1] * 4}
            return (1, groups * own, *image), (groups, own, 3, 3), 0, grouped
        case "transposed":
            return (1, inputs, *image), (inputs, outputs, 2, 2), 1, {"strides": [2, 2]}
        case "transposed1d":
            given = {"strides": [2], "pads": [pad] * 2}
            return (1, inputs, columns + 2), (inputs, outputs, 3), 1, given
        case "tokens":
            return (1, rows, inputs), (inputs, outputs), 1, {}
        case "columns":
            return (2, inputs, columns), (outputs, inputs), 0, {}
        case "pair":
            return (1, 2, rows, inputs), (1, 2, inputs, columns), 3, {}
        case _:
            return (rows, inputs), (inputs, outputs), 1, {}


def _integers(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def _model(nodes: list[NodeProto], inputs: dict[str, Array], given: dict[str, Array]) -> ModelProto:
    shapes: dict[str, Sequence[int | str | None]] = {
        name: array.shape for name, array in inputs.items()
    }
    (kind,) = {helper.np_dtype_to_tensor_dtype(each.dtype) for each in inputs.values()}
    return model(nodes, shapes, ["y"], read_weights(nodes, given), opset=19, dtype=kind)


def _reference(
    made: ModelProto, inputs: dict[str, Array], names: Sequence[str] | None = None
) -> list[Array]:
    found: Any = ReferenceEvaluator(made).run(names, dict(inputs))
    return list(found)


def _zeros(dtype: str) -> st.SearchStrategy[int]:
    limits = np.iinfo(dtype)
    middle = (limits.min + limits.max + 1) // 2
    near = [middle, middle - 1, middle + 3, limits.min, limits.max]
    return st.sampled_from(near) | st.integers(limits.min, limits.max)


@st.composite
def stated_layers(draw: st.DrawFn) -> StatedLayer:
    """Layers of all kinds, in all forms, with zero points of all sizes."""
    kind = draw(st.sampled_from(sorted(FORMS)))
    form = draw(st.sampled_from(FORMS[kind]))
    data_type = "uint8" if form == "dynamic" else draw(st.sampled_from(["int8", "uint8"]))
    weight_type = draw(st.sampled_from(["int8", "uint8"]))
    zeros = st.lists(_zeros(weight_type), min_size=1, max_size=4)
    numbers = Numbers(data_type, draw(_zeros(data_type)), weight_type, tuple(draw(zeros)))
    relu = form == "qdq" and draw(st.booleans())
    return stated_layer(kind, form, numbers, relu, draw(st.integers(0, 1 << 32)))

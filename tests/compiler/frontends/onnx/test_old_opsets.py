"""Operators as opsets 1 to 6 define them, against NumPy: ONNX Runtime does not have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx import Imported, import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_models import model

Array = NDArray[Any]
make = helper.make_node
RNG = np.random.default_rng(0)


def noise(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


X = noise(1, 3, 4, 4)
ROW, CHANNEL, PLANE = noise(4), noise(3), noise(3, 4)
WEIGHT, BIAS = noise(5, 4), noise(5)
SLOPE = np.array([0.5, 0.25, 2], np.float32)
SCALE, SHIFT, MEAN, VARIANCE = np.abs(noise(3)) + 1, noise(3), noise(3), np.abs(noise(3)) + 1


@dataclass(frozen=True)
class Case:
    """A node on `x`, and what NumPy makes of it.

    Attributes
    ----------
    x
        The data; `X` by default, whose width is its height, so that rows and columns can be mixed
        up.
    """

    opset: int
    node: NodeProto
    wanted: Array
    weights: dict[str, Array] = field(default_factory=dict)
    x: Array = field(default_factory=lambda: X)


def normalised() -> Array:
    found = (X - MEAN[:, None, None]) / np.sqrt(VARIANCE + 1e-3)[:, None, None]
    return np.asarray(found * SCALE[:, None, None] + SHIFT[:, None, None])


STATISTICS = {"s": SCALE, "b": SHIFT, "m": MEAN, "v": VARIANCE}
PADDED = np.pad(X, [(0, 0), (0, 0), (1, 1), (0, 2)], constant_values=3)
CASES = {
    "add without broadcasting": Case(6, make("Add", ["x", "x"], ["y"]), X + X),
    "add a row": Case(6, make("Add", ["x", "b"], ["y"], broadcast=1), X + ROW, {"b": ROW}),
    "add channels": Case(
        6,
        make("Add", ["x", "b"], ["y"], broadcast=1, axis=1),
        X + CHANNEL[:, None, None],
        {"b": CHANNEL},
    ),
    "multiply planes, with what is consumed": Case(
        1,
        make("Mul", ["x", "b"], ["y"], broadcast=1, axis=1, consumed_inputs=[0, 0]),
        X * PLANE[:, :, None],
        {"b": PLANE},
    ),
    "divide, axis from the end": Case(
        6, make("Div", ["x", "b"], ["y"], broadcast=1, axis=-1), X / ROW, {"b": ROW}
    ),
    "subtract a number": Case(
        1, make("Sub", ["x", "b"], ["y"], broadcast=1), X - 2, {"b": np.array([2], np.float32)}
    ),
    "power": Case(
        1, make("Pow", ["x", "b"], ["y"], broadcast=1), X**2, {"b": np.array([2], np.float32)}
    ),
    "slopes of channels": Case(
        6,
        make("PRelu", ["x", "b"], ["y"]),
        np.where(X < 0, X * SLOPE[:, None, None], X),
        {"b": SLOPE},
    ),
    "slopes of channels, as many as columns": Case(
        6,
        make("PRelu", ["x", "b"], ["y"]),
        np.where(X[..., :3] < 0, X[..., :3] * SLOPE[:, None, None], X[..., :3]),
        {"b": SLOPE},
        X[..., :3].copy(),
    ),
    "normalised": Case(
        6,
        make("BatchNormalization", ["x", *"sbmv"], ["y"], is_test=1, epsilon=1e-3),
        normalised(),
        STATISTICS,
    ),
    "normalised, opset 1": Case(
        1,
        make(
            "BatchNormalization",
            ["x", *"sbmv"],
            ["y"],
            is_test=1,
            epsilon=1e-3,
            consumed_inputs=[0, 0, 0, 1, 1],
        ),
        normalised(),
        STATISTICS,
    ),
    "relu": Case(1, make("Relu", ["x"], ["y"], consumed_inputs=[0]), np.maximum(X, 0)),
    "clip": Case(1, make("Clip", ["x"], ["y"], max=0.5), np.minimum(X, np.float32(0.5))),
    "selu": Case(
        1,
        make("Selu", ["x"], ["y"]),
        np.float32(1.0507) * np.where(X > 0, X, np.float32(1.6732) * (np.exp(X) - 1)),
    ),
    "leaky": Case(1, make("LeakyRelu", ["x"], ["y"], alpha=0.1), np.where(X < 0, X * 0.1, X)),
    "greatest": Case(1, make("Max", ["x", "b"], ["y"]), np.maximum(X, -X), {"b": -X}),
    "dropout": Case(6, make("Dropout", ["x"], ["y"], is_test=1), X),
    "reshape": Case(1, make("Reshape", ["x"], ["y"], shape=[0, -1]), X.reshape(1, -1)),
    "dense": Case(
        6,
        make("Gemm", ["x", "w", "c"], ["y"], broadcast=1, transB=1),
        X[0, 0] @ WEIGHT.T + BIAS,
        {"w": WEIGHT, "c": BIAS},
        X[0, 0].copy(),
    ),
    "cast": Case(1, make("Cast", ["x"], ["y"], to="INT32"), X.astype(np.int32)),
    "concatenated": Case(1, make("Concat", ["x", "x"], ["y"]), np.concatenate([X, X], 1)),
    "padded": Case(
        1,
        make("Pad", ["x"], ["y"], paddings=[0, 0, 1, 0, 0, 0, 1, 2], value=3.0),
        PADDED,
    ),
    "tiled": Case(
        1,
        make("Tile", ["x", "t", "a"], ["y"]),
        np.tile(X, (1, 1, 2, 1)),
        {"t": np.array(2, np.float32), "a": np.array(2, np.float32)},
    ),
    "upsampled": Case(
        1,
        make("Upsample", ["x"], ["y"], height_scale=2.0, width_scale=3.0),
        X.repeat(2, 2).repeat(3, 3),
    ),
    "split": Case(1, make("Split", ["x"], ["y", "z"], axis=2, split=[1, 3]), X[:, :, :1]),
    "split by an operand": Case(
        1,
        make("Split", ["x", "n"], ["y", "z"], axis=2),
        X[:, :, :1],
        {"n": np.array([1, 3], np.float32)},
    ),
    "means": Case(
        1,
        make("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        X.reshape(1, 3, 2, 2, 2, 2).mean((3, 5)),
    ),
    "lengths": Case(
        1,
        make("LpPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], p=2.0),
        np.sqrt((X.reshape(1, 3, 2, 2, 2, 2) ** 2).sum((3, 5))),
    ),
    "length": Case(
        1, make("GlobalLpPool", ["x"], ["y"], p=1.0), np.abs(X).sum((2, 3), keepdims=True)
    ),
}


def imported(case: Case) -> Imported:
    number = helper.np_dtype_to_tensor_dtype(case.wanted.dtype)
    whole = model([case.node], {"x": case.x.shape}, ["y"], case.weights, case.opset)
    whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", number, None))
    return import_model(whole)


@pytest.mark.parametrize("name", CASES)
def test_nodes(name: str) -> None:
    case = CASES[name]
    found = evaluate(imported(case).function, [case.x], NativeRunner(reassociate=False))
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == (case.wanted.shape, case.wanted.dtype)
    np.testing.assert_allclose(found, case.wanted, 1e-5, 1e-6)


def test_recurrent_layers() -> None:
    """An LSTM of opset 1 is that of opset 7, which differs in what of it is optional."""
    x, weights = noise(3, 1, 5), {"w": noise(1, 16, 5), "r": noise(1, 16, 4)}
    node = make("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=4)
    results = []
    for opset in (1, 7):
        whole = model([node], {"x": x.shape}, ["h"], weights, opset)
        whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("h", 1, None))
        results.append(evaluate(import_model(whole).function, [x], NativeRunner()))
    first, second = results
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (make("Dropout", ["x"], ["y"]), "training: its results are random"),
        (make("BatchNormalization", ["x", *"sbmv"], ["y"]), "training: is_test is 0"),
        (make("Add", ["x", "s"], ["y"]), r"float32\[3\]: the attribute broadcast is 0"),
        (make("Add", ["x", "s"], ["y"], broadcast=1, axis=4), "from axis 4 of"),
    ],
)
def test_refusals(node: NodeProto, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        imported(Case(6, node, X, STATISTICS))


def test_the_remedy_is_named() -> None:
    """For an operator that only old opsets have and nobody defines any more."""
    whole = model([make("Relu", ["x"], ["y"])], {"x": [1]}, ["y"], opset=6)
    whole.graph.node[0].op_type = "ImageScaler"
    whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    with pytest.raises(UnsupportedError, match=r"ImageScaler of opset 6 .*opset 7 or newer"):
        import_model(whole)

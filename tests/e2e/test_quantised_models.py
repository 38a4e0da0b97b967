"""Models as ONNX Runtime's quantiser exports them: as ONNX Runtime computes them, on the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, helper

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.quantise.networks import sqnr
from tests.support.compiler.quantise.random_stated_layers import Numbers, stated_layer
from tests.support.compiler.quantise.stated_layers import share_and_outputs

onnxruntime = pytest.importorskip("onnxruntime", reason="what quantises, and is compared with")
quantisation = pytest.importorskip("onnxruntime.quantization", reason="the quantiser")

Array = NDArray[Any]
make = helper.make_node
TYPES = {"s8": quantisation.QuantType.QInt8, "u8": quantisation.QuantType.QUInt8}


def by_onnx_runtime(made: ModelProto, data: dict[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    return session.run(None, data)


@pytest.mark.parametrize(
    ("kind", "form", "zeros"),
    [
        # Products of tokens, convolutions along one axis, and transposed ones.
        ("tokens", "qdq", (128,)),
        ("conv1d", "qdq", (128,)),
        ("transposed", "qdq", (128,)),
        # Zero points of weights off the middle of uint8, and one for each channel.
        ("conv2d", "qdq", (127,)),
        ("conv2d", "operator", (131,)),
        ("conv2d", "qdq", (0,)),
        ("tokens", "qdq", (0, 127, 131, 255)),
        # A scale for each column.
        ("matrix", "operator", (128, 128)),
        # Operands with zero points that are both computed.
        ("pair", "qdq", (0,)),
    ],
)
def test_layers(kind: str, form: str, zeros: tuple[int, ...]) -> None:
    layer = stated_layer(kind, form, Numbers("uint8", 121, "uint8", zeros), False, seed=5)
    (wanted,) = by_onnx_runtime(layer.model, layer.inputs)
    share, (found,) = share_and_outputs(layer.model, layer.inputs, machine("small8"))
    assert share == 1.0
    off = np.abs(found.astype(np.float64) - wanted) / layer.step
    assert off.max() < 1.01
    assert (off > 0.01).mean() < 0.03


def attention() -> tuple[ModelProto, tuple[int, ...]]:
    """A transformer's layer: two heads of attention, and two products with a GELU between them."""
    random = np.random.default_rng(0)
    tokens, features, heads = 8, 32, 2

    def weight(*shape: int) -> Array:
        found: Array = random.normal(size=shape) / np.sqrt(shape[0])
        return found.astype(np.float32)

    given: dict[str, Array] = {name: weight(features, features) for name in ("q", "k", "v", "o")}
    given |= {"up": weight(features, 2 * features), "down": weight(2 * features, features)}
    given |= {name: weight(features) for name in ("bq", "bo")}
    given |= {"g": np.ones(features, np.float32), "z": np.zeros(features, np.float32)}
    given |= {"s": np.array(0.25, np.float32), "apart": np.array([1, tokens, heads, -1])}
    given |= {"whole": np.array([1, tokens, features])}
    nodes = [make("MatMul", ["x", each], [f"{each}0"]) for each in "qkv"]
    nodes.append(make("Add", ["q0", "bq"], ["q1"]))
    for name, perm in (("q1", [0, 2, 1, 3]), ("k0", [0, 2, 3, 1]), ("v0", [0, 2, 1, 3])):
        nodes.append(make("Reshape", [name, "apart"], [f"{name}_heads"]))
        nodes.append(make("Transpose", [f"{name}_heads"], [f"{name}_t"], perm=perm))
    nodes += [
        make("MatMul", ["q1_t", "k0_t"], ["scores"]),
        make("Mul", ["scores", "s"], ["scaled"]),
        make("Softmax", ["scaled"], ["p"], axis=-1),
        make("MatMul", ["p", "v0_t"], ["mixed"]),
        make("Transpose", ["mixed"], ["mixed_t"], perm=[0, 2, 1, 3]),
        make("Reshape", ["mixed_t", "whole"], ["joined"]),
        make("MatMul", ["joined", "o"], ["o0"]),
        make("Add", ["o0", "bo"], ["o1"]),
        make("Add", ["o1", "x"], ["r"]),
        make("LayerNormalization", ["r", "g", "z"], ["n"]),
        make("MatMul", ["n", "up"], ["u"]),
        make("Sigmoid", ["u"], ["us"]),
        make("Mul", ["u", "us"], ["a"]),
        make("MatMul", ["a", "down"], ["d"]),
        make("Add", ["d", "n"], ["y"]),
    ]
    return model(nodes, {"x": (1, tokens, features)}, ["y"], given), (1, tokens, features)


def images() -> tuple[ModelProto, tuple[int, ...]]:
    """Convolutions along one axis and two, depthwise and transposed, with a skip connection."""
    random = np.random.default_rng(1)

    def weight(*shape: int) -> Array:
        found: Array = random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        return found.astype(np.float32)

    given: dict[str, Array] = {
        "w1": weight(8, 3, 3, 3),
        "b1": weight(8),
        "w2": weight(8, 1, 3, 3),
        "w3": weight(8, 6, 2, 2),
        "w4": weight(4, 14, 3, 3),
        "w5": weight(5, 4, 3),
        "flat": np.array([1, 4, -1]),
    }
    pads = [1, 1, 1, 1]
    nodes = [
        make("Conv", ["x", "w1", "b1"], ["c1"], pads=pads),
        make("Relu", ["c1"], ["r1"]),
        make("MaxPool", ["r1"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Conv", ["m", "w2"], ["c2"], pads=pads, group=8),
        make("Relu", ["c2"], ["r2"]),
        make("ConvTranspose", ["r2", "w3"], ["t"], strides=[2, 2]),
        make("Concat", ["t", "r1"], ["j"], axis=1),
        make("Conv", ["j", "w4"], ["c4"], pads=pads),
        make("Reshape", ["c4", "flat"], ["f"]),
        make("Conv", ["f", "w5"], ["y"], pads=[1, 1]),
    ]
    return model(nodes, {"x": (1, 3, 8, 8)}, ["y"], given), (1, 3, 8, 8)


MODELS = {"attention": attention, "images": images}


@pytest.mark.every(2)
@pytest.mark.parametrize("types", ["s8 s8", "u8 u8", "dynamic"])
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, types: str, tmp_path: Any) -> None:
    """All products whose operands are quantised are on the array, and the error is the quantiser's:
    within 0.7 dB of what ONNX Runtime has itself."""
    made, shape = MODELS[name]()
    random = np.random.default_rng(2)
    samples = [{"x": random.normal(size=shape).astype(np.float32)} for _ in range(9)]
    given, path = tmp_path / "given.onnx", tmp_path / "quantised.onnx"
    onnx.save(made, given)
    if types == "dynamic":
        quantisation.quantize_dynamic(given, path, weight_type=TYPES["u8"])
    else:
        data_type, weight_type = (TYPES[each] for each in types.split())

        class Reader(quantisation.CalibrationDataReader):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                self._left = iter(samples[:-1])

            def get_next(self) -> dict[str, Array] | None:
                return next(self._left, None)

        quantisation.quantize_static(
            given,
            path,
            Reader(),
            quant_format=quantisation.QuantFormat.QDQ,
            activation_type=data_type,
            weight_type=weight_type,
            per_channel=weight_type == TYPES["s8"],
        )
    stated, data = onnx.load(path), samples[-1]
    (exact,), (theirs,) = (by_onnx_runtime(each, data) for each in (made, stated))
    share, (found,) = share_and_outputs(stated, data, machine("small8"))
    # What is quantised when it runs has weights: of 17 products one is in float32 in attention, and
    # one of 20 is that of a transposed convolution. LayerNormalization's are the rest.
    assert share > (0.93 if types == "dynamic" else 0.99)
    assert sqnr(exact, found) > sqnr(exact, theirs) - 0.7

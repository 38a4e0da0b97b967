"""Networks as ONNX Runtime's optimiser and quantiser, and exporters to it, leave them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from onnx.helper import make_opsetid
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tandem.compiler.models.network import NetworkBuilder, Shape

DOMAIN = "com.microsoft"


@dataclass
class _Builder(NetworkBuilder):
    """A builder that can add ONNX Runtime's operators."""

    def scaled(self, name: str, *shape: int) -> str:
        """Add weights whose first axis is that of sums."""
        return self.weight(name, self.normal(shape, shape[0]))

    def bias(self, name: str, size: int) -> str:
        """Add a bias."""
        return self.weight(name, self.biases(size))

    def conv(self, name: str, x: str, inputs: int, outputs: int, kernel: int) -> str:
        """Add a convolution that keeps the image's size."""
        shape = (outputs, inputs, kernel, kernel)
        weight = self.weight(f"{name}.weight", self.normal(shape, inputs * kernel**2))
        operands = [x, weight, self.bias(f"{name}.bias", outputs)]
        return self.node("Conv", operands, name, pads=[kernel // 2] * 4)

    def finished(
        self, inputs: dict[str, tuple[int, Shape]], outputs: dict[str, Shape], opset: int = 17
    ) -> ModelProto:
        """The model, with ONNX Runtime's domain."""
        found = self.model("network", inputs, outputs, opset)
        found.opset_import.append(make_opsetid(DOMAIN, 1))
        return found


def convolutional() -> ModelProto:
    """A network with the layers of which ONNX Runtime has quantised ones: `x` [1, 3, 8, 8] to
    `classes` [1, 10]."""
    net = _Builder(np.random.default_rng(0))
    x = net.node("Relu", [net.conv("first", "x", 3, 16, 3)], "first.relu")
    inner = net.node("Relu", [net.conv("second", x, 16, 16, 3)], "second.relu")
    x = net.node("Add", [x, net.conv("third", inner, 16, 16, 3)], "sum")
    x = net.node("Relu", [x], "sum.relu")
    x = net.node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    leaky = net.node("LeakyRelu", [net.conv("left", x, 16, 16, 3)], "left.leaky", alpha=0.1)
    x = net.node("Concat", [net.conv("right", x, 16, 16, 1), leaky], "joined", axis=1)
    x = net.node("AveragePool", [x], "average", kernel_shape=[2, 2], strides=[2, 2])
    squeezed = net.conv("squeeze", net.node("GlobalAveragePool", [x], "mean"), 32, 32, 1)
    x = net.node("Mul", [x, net.node("Sigmoid", [squeezed], "gate")], "gated")
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x], "features")], "rows")
    net.node("Softmax", [net.dense("logits", x, 32, 10)], "classes")
    inputs = {"x": (TensorProto.FLOAT, (1, 3, 8, 8))}
    return net.model("convolutional", inputs, {"classes": (1, 10)})


def encoder(tokens: int = 8, features: int = 32, heads: int = 2) -> ModelProto:
    """A layer of BERT as PyTorch wrote it before opset 17, for the optimiser to fuse: `words`,
    `segments` and `mask` int64[1, tokens] to `hidden` [1, tokens, features]."""
    net, size = _Builder(np.random.default_rng(1)), features // heads

    def normalised(name: str, x: str) -> str:
        mean = net.node("ReduceMean", [x], f"{name}.mean", axes=[-1])
        apart = net.node("Sub", [x, mean], f"{name}.apart")
        two = net.weight("two", np.array(2.0))
        squares = net.node("Pow", [apart, two], f"{name}.squares")
        variance = net.node("ReduceMean", [squares], f"{name}.variance", axes=[-1])
        epsilon = net.weight("epsilon", np.array(1e-12))
        kept = net.node("Add", [variance, epsilon], f"{name}.kept")
        root = net.node("Sqrt", [kept], f"{name}.root")
        scale = net.weight(f"{name}.scale", net.random.uniform(0.8, 1.2, features))
        scaled = net.node(
            "Mul", [net.node("Div", [apart, root], f"{name}.normal"), scale], f"{name}.scaled"
        )
        return net.node("Add", [scaled, net.bias(f"{name}.bias", features)], name)

    def dense(name: str, x: str, inputs: int, outputs: int) -> str:
        product = net.node(
            "MatMul", [x, net.scaled(f"{name}.weight", inputs, outputs)], f"{name}.sum"
        )
        return net.node("Add", [net.bias(f"{name}.bias", outputs), product], name)

    def split(name: str, x: str, order: list[int]) -> str:
        rows = net.node("Reshape", [x, net.integers("split", 0, 0, heads, size)], f"{name}.rows")
        return net.node("Transpose", [rows], name, perm=order)

    words = net.node("Gather", [net.scaled("word", 30, features), "words"], "words.found")
    segments = net.node(
        "Gather", [net.scaled("segment", 2, features), "segments"], "segments.found"
    )
    places = net.weight("places", net.normal((1, tokens, features), 1, 0.3))
    both = net.node("Add", [words, segments], "both")
    x = normalised("embedded", net.node("Add", [both, places], "all"))
    apart = net.node("Unsqueeze", ["mask"], "mask.apart", axes=[1, 2])
    kept = net.node("Cast", [apart], "mask.kept", to=TensorProto.FLOAT)
    hidden = net.node("Sub", [net.weight("one", np.array(1.0)), kept], "mask.hidden")
    mask = net.node("Mul", [hidden, net.weight("much", np.array(-10000.0))], "mask.added")
    queries = split("queries", dense("query", x, features, features), [0, 2, 1, 3])
    keys = split("keys", dense("key", x, features, features), [0, 2, 3, 1])
    values = split("values", dense("value", x, features, features), [0, 2, 1, 3])
    products = net.node("MatMul", [queries, keys], "products")
    scores = net.node("Div", [products, net.weight("root", np.array(size**0.5))], "scores")
    weights = net.node("Softmax", [net.node("Add", [scores, mask], "masked")], "weights", axis=3)
    seen = net.node("MatMul", [weights, values], "seen")
    rows = net.node("Transpose", [seen], "seen.rows", perm=[0, 2, 1, 3])
    rows = net.node("Reshape", [rows, net.integers("join", 0, 0, features)], "rows")
    attended = net.node("Add", [dense("output", rows, features, features), x], "attended")
    x = normalised("middle", attended)
    inner = dense("inner", x, features, 2 * features)
    argument = net.node("Div", [inner, net.weight("root2", np.array(2**0.5))], "argument")
    raised = net.node("Add", [net.node("Erf", [argument], "erf"), "one"], "raised")
    half = net.node("Mul", [net.node("Mul", [inner, raised], "gelu.twice"), "half"], "gelu")
    net.weight("half", np.array(0.5))
    outer = dense("outer", half, 2 * features, features)
    normalised("hidden", net.node("Add", [outer, x], "last"))
    inputs = {name: (TensorProto.INT64, (1, tokens)) for name in ("words", "segments", "mask")}
    return net.model("encoder", inputs, {"hidden": (1, tokens, features)}, opset=12, ir_version=7)


def decoder(tokens: int = 6, past: int = 4, features: int = 32, heads: int = 2) -> ModelProto:
    """Two layers of GPT-2 in ONNX Runtime's operators, with keys and values of earlier tokens:
    `words` int64[1, tokens] and `past0`, `past1` to `logits` and `present0`, `present1`."""
    net, size = _Builder(np.random.default_rng(2)), features // heads
    own = {"domain": DOMAIN}
    x = net.node("Gather", [net.scaled("word", 30, features), "words"], "embedded")
    inputs: dict[str, tuple[int, Shape]] = {"words": (TensorProto.INT64, (1, tokens))}
    outputs: dict[str, Shape] = {"logits": (1, tokens, 30)}
    scale = net.weight("scale0", net.random.uniform(0.8, 1.2, features))
    inner = net.node("LayerNormalization", [x, scale, net.bias("shift0", features)], "norm0")
    for layer in range(2):
        weight = net.scaled(f"packed{layer}", features, 3 * features)
        bias = net.bias(f"packed{layer}.bias", 3 * features)
        net.nodes.append(
            onnx.helper.make_node(
                "Attention",
                [inner, weight, bias, "", f"past{layer}"],
                [f"seen{layer}", f"present{layer}"],
                num_heads=heads,
                unidirectional=1,
                **own,
            )
        )
        inputs[f"past{layer}"] = (TensorProto.FLOAT, (2, 1, heads, past, size))
        outputs[f"present{layer}"] = (2, 1, heads, past + tokens, size)
        output = net.scaled(f"output{layer}", features, features)
        seen = net.node("MatMul", [f"seen{layer}", output], f"attended{layer}")
        x, inner = _skipped(net, f"middle{layer}", seen, x, features)
        wide = net.node("MatMul", [inner, net.scaled(f"wide{layer}", features, 64)], f"sum{layer}")
        operands = [wide, net.bias(f"wide{layer}.bias", 64)]
        wide = net.node("FastGelu", operands, f"gelu{layer}", **own)
        narrow = net.node(
            "MatMul", [wide, net.scaled(f"narrow{layer}", 64, features)], f"out{layer}"
        )
        x, inner = _skipped(net, f"last{layer}", narrow, x, features)
    net.node("MatMul", [inner, net.scaled("head", features, 30)], "logits")
    return net.finished(inputs, outputs)


def _skipped(net: _Builder, name: str, x: str, skip: str, features: int) -> tuple[str, str]:
    """Add a normalised sum; returns the names of the sum and of what it is normalised to."""
    scale = net.weight(f"{name}.scale", net.random.uniform(0.8, 1.2, features))
    operands = [
        x,
        skip,
        scale,
        net.bias(f"{name}.shift", features),
        net.bias(f"{name}.bias", features),
    ]
    outputs = [f"{name}.normal", "", "", f"{name}.sum"]
    made = onnx.helper.make_node("SkipLayerNormalization", operands, outputs, name, domain=DOMAIN)
    net.nodes.append(made)
    return f"{name}.sum", f"{name}.normal"


def grouped_decoder(tokens: int = 5, features: int = 64, heads: int = 4) -> ModelProto:
    """A layer of Llama as ONNX Runtime's exporter writes it, on a prompt: `words` int64[1, tokens]
    to `logits`, `keys` and `values`."""
    net, shared, size = _Builder(np.random.default_rng(3)), heads // 2, features // heads
    own = {"domain": DOMAIN}

    def scale(name: str) -> str:
        return net.weight(name, net.random.uniform(0.8, 1.2, features))

    x = net.node("Gather", [net.scaled("word", 30, features), "words"], "embedded")
    inner = net.node("SimplifiedLayerNormalization", [x, scale("norm.scale")], "norm", axis=-1)
    rows = [
        net.node("MatMul", [inner, net.scaled(f"{name}.weight", features, count * size)], name)
        for name, count in (("query", heads), ("key", shared), ("value", shared))
    ]
    angles = np.arange(tokens + 3)[:, None] * 10_000.0 ** (-np.arange(size // 2) * 2 / size)
    tables = [net.weight("cos", np.cos(angles)), net.weight("sin", np.sin(angles))]
    net.weights["lengths"] = onnx.numpy_helper.from_array(
        np.array([tokens - 1], np.int32), "lengths"
    )
    net.weights["total"] = onnx.numpy_helper.from_array(np.array(tokens, np.int32), "total")
    made = onnx.helper.make_node(
        "GroupQueryAttention",
        [*rows, "", "", "lengths", "total", *tables],
        ["seen", "keys", "values"],
        num_heads=heads,
        kv_num_heads=shared,
        do_rotary=1,
        **own,
    )
    net.nodes.append(made)
    output = net.node("MatMul", ["seen", net.scaled("output", features, features)], "attended")
    operands = [output, x, scale("middle.scale")]
    outputs = ["middle", "", "", "sum"]
    skip = "SkipSimplifiedLayerNormalization"
    net.nodes.append(onnx.helper.make_node(skip, operands, outputs, **own))
    gate = net.node("MatMul", ["middle", net.scaled("gate.weight", features, 96)], "gate")
    gate = net.node("QuickGelu", [gate], "silu", alpha=1.0, **own)
    up = net.node("MatMul", ["middle", net.scaled("up.weight", features, 96)], "up")
    down = net.scaled("down", 96, features)
    last = net.node("MatMul", [net.node("Mul", [gate, up], "inner"), down], "last")
    operands = [last, "sum", scale("final.scale")]
    net.nodes.append(onnx.helper.make_node(skip, operands, ["final"], **own))
    net.node("MatMul", ["final", net.scaled("head", features, 30)], "logits")
    cache = (1, shared, tokens, size)
    return net.finished(
        {"words": (TensorProto.INT64, (1, tokens))},
        {"logits": (1, tokens, 30), "keys": cache, "values": cache},
    )


def feeds(model: ModelProto, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Random data for a model's inputs: normal numbers, words, and masks of ones and zeros."""
    random = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            found[info.name] = random.standard_normal(shape).astype(np.float32)
        else:
            most = 30 if info.name == "words" else 2
            found[info.name] = random.integers(0, most, shape, np.int64)
    return found


def optimised(model: ModelProto, folder: Path, *, layout: bool = False) -> ModelProto:
    """The model as ONNX Runtime's optimiser leaves it, with `layout` in this machine's layout."""
    levels, path = onnxruntime.GraphOptimizationLevel, folder / "optimised.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if layout else levels.ORT_ENABLE_EXTENDED
    )
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return onnx.load(path)


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    """Samples for ONNX Runtime's calibration."""

    def __init__(self, model: ModelProto, count: int) -> None:
        self._samples = iter([feeds(model, seed) for seed in range(count)])

    def get_next(self) -> dict[str, Any] | None:
        """The next one."""
        return next(self._samples, None)


def quantised(model: ModelProto, folder: Path, *, unsigned: bool) -> ModelProto:
    """The model in ONNX Runtime's quantised operators, with a scale for each channel of weights."""
    plain, path = folder / "plain.onnx", folder / "quantised.onnx"
    onnx.save(model, plain)
    quantize_static(
        plain,
        path,
        _Samples(model, 4),
        quant_format=QuantFormat.QOperator,
        per_channel=True,
        activation_type=QuantType.QUInt8 if unsigned else QuantType.QInt8,
        weight_type=QuantType.QInt8,
        # Weights of 7 bits: beside uint8, others may be summed with 16 bits (`weights` of
        # tests/support/compiler/frontends/runtime_nodes.py).
        reduce_range=unsigned,
    )
    return onnx.load(path)

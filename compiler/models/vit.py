"""The vision transformer as an ONNX model, with random weights.

Dosovitskiy et al., An image is worth 16x16 words, ICLR'21: ViT-B/16.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import Shape
from tandem.compiler.models.transformer import IR_VERSION, OPSET, Sizes, TransformerBuilder


def vit(seed: int = 0) -> ModelProto:
    """ViT-B/16: `input` [1, 3, 224, 224] to `output` [1, 1000]."""
    sizes = Sizes(768, 12, 3072, 12, tokens=14 * 14, vocabulary=1000)
    return _vit("vit", 224, 16, sizes, seed)


def vit_tiny(seed: int = 0) -> ModelProto:
    """A small one: `input` [1, 3, 16, 16] in patches of 4 x 4 to `output` [1, 10]."""
    sizes = Sizes(32, 2, 64, 2, tokens=4 * 4, vocabulary=10)
    return _vit("vit-tiny", 16, 4, sizes, seed)


def _vit(name: str, extent: int, patch: int, sizes: Sizes, seed: int) -> ModelProto:
    network = TransformerBuilder(np.random.default_rng(seed))
    features = sizes.features
    kernel = network.normal((features, 3, patch, patch), 3 * patch * patch)
    patches = [
        network.weight("patches.weight", kernel),
        network.weight("patches.bias", network.biases(features)),
    ]
    geometry = {"kernel_shape": [patch] * 2, "strides": [patch] * 2}
    x = network.node("Conv", ["input", *patches], "patches", **geometry)
    flat = network.integers("patches.shape", 0, features, sizes.tokens)
    x = network.node("Reshape", [x, flat], "patches.columns")
    x = network.node("Transpose", [x], "patches.rows", perm=[0, 2, 1])
    first = network.weight("class", network.normal((1, 1, features), 1))
    x = network.node("Concat", [first, x], "tokens", axis=1)
    places = network.weight("positions", network.normal((1, 1 + sizes.tokens, features), 1, 0.5))
    x = network.node("Add", [x, places], "placed")
    for layer in range(sizes.layers):
        stem = f"layer{layer}"
        inner = network.layer_norm(f"{stem}.norm1", x, features)
        operands = [
            network.split(
                f"{stem}.{part}.heads",
                network.linear(f"{stem}.{part}", inner, features, features),
                sizes.heads,
                sizes.head,
            )
            for part in ("query", "key", "value")
        ]
        seen = network.attend(f"{stem}.attention", operands, sizes)
        seen = network.linear(f"{stem}.output", seen, features, features, sizes.branch_scale)
        x = network.node("Add", [x, seen], f"{stem}.middle")
        inner = network.layer_norm(f"{stem}.norm2", x, features)
        inner = network.perceptron(f"{stem}.perceptron", inner, sizes)
        x = network.node("Add", [x, inner], stem)
    x = network.layer_norm("norm", x, features)
    x = network.node("Gather", [x, network.weight("first", np.array(0))], "class_token", axis=1)
    output = network.dense("head", x, features, sizes.vocabulary, "output")
    image: tuple[int, Shape] = (TensorProto.FLOAT, (1, 3, extent, extent))
    outputs: dict[str, Shape] = {output: (1, sizes.vocabulary)}
    return network.model(name, {"input": image}, outputs, OPSET, IR_VERSION)

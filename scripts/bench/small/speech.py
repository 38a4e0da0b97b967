"""A small encoder of Whisper (Radford et al., ICML'23): convolutions along time, a transformer."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.transformer import IR_VERSION, OPSET, Sizes, TransformerBuilder

_BANDS, _FRAMES = 40, 100
_SIZES = Sizes(64, 4, 256, 2, tokens=_FRAMES // 2, vocabulary=1)


class _Encoder(TransformerBuilder):
    """A builder of its layers."""

    def along_time(self, name: str, x: str, inputs: int, outputs: int, stride: int) -> str:
        """Add a convolution of three frames, and GELU."""
        weight = self.weight(f"{name}.weight", self.normal((outputs, inputs, 3), 3 * inputs))
        bias = self.weight(f"{name}.bias", self.biases(outputs))
        sizes = {"kernel_shape": [3], "strides": [stride], "pads": [1, 1]}
        x = self.node("Conv", [x, weight, bias], name, **sizes)
        return self.node("Gelu", [x], f"{name}.gelu")

    def encoder_layer(self, name: str, x: str, sizes: Sizes) -> str:
        """Add a layer of attention and a perceptron, both behind a normalisation."""
        features = sizes.features
        inner = self.layer_norm(f"{name}.norm1", x, features)
        operands = [
            self.split(
                f"{name}.{part}.heads",
                self.linear(f"{name}.{part}", inner, features, features, bias=part != "key"),
                sizes.heads,
                sizes.head,
            )
            for part in ("query", "key", "value")
        ]
        seen = self.attend(f"{name}.attention", operands, sizes)
        seen = self.linear(f"{name}.output", seen, features, features, sizes.branch_scale)
        x = self.node("Add", [x, seen], f"{name}.middle")
        inner = self.layer_norm(f"{name}.norm2", x, features)
        return self.node("Add", [x, self.perceptron(f"{name}.perceptron", inner, sizes)], name)


def speech() -> ModelProto:
    """`bands` [1, 40, 100], frames of a spectrum, to `hidden` [1, 50, 64]."""
    network = _Encoder(np.random.default_rng(0))
    features = _SIZES.features
    x = network.along_time("conv1", "bands", _BANDS, features, 1)
    x = network.along_time("conv2", x, features, features, 2)
    x = network.node("Transpose", [x], "tokens", perm=[0, 2, 1])
    places = network.constant("places", network.normal((_SIZES.tokens, features), 1, 0.5))
    x = network.node("Add", [x, places], "placed")
    for layer in range(_SIZES.layers):
        x = network.encoder_layer(f"layer{layer}", x, _SIZES)
    hidden = network.layer_norm("hidden", x, features)
    bands = {"bands": (TensorProto.FLOAT, (1, _BANDS, _FRAMES))}
    outputs = {hidden: (1, _SIZES.tokens, features)}
    return network.model("speech", bands, outputs, OPSET, IR_VERSION)

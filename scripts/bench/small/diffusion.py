"""A block of a diffusion model's U-Net: a residual block that takes the time, and attention.

Ho et al., Denoising diffusion probabilistic models, 2020 (arXiv 2006.11239). Groups of channels are
normalised as exporters of opset 17 write it.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork
from tandem.compiler.models.transformer import Sizes, TransformerBuilder

_CHANNELS, _EXTENT, _GROUPS, _TIME = 32, 16, 8, 64
_HEADS = 4


class _Diffusion(TransformerBuilder, ConvNetwork):
    """A builder of the block's parts."""

    def grouped_norm(self, name: str, x: str) -> str:
        """Add a normalisation of each group of channels."""
        apart = self.integers("groups", 0, _GROUPS, -1)
        rows = self.node("Reshape", [x, apart], f"{name}.rows")
        ones = self.constant("ones", np.ones(_GROUPS))
        zeros = self.constant("zeros", np.zeros(_GROUPS))
        rows = self.node("InstanceNormalization", [rows, ones, zeros], f"{name}.normal")
        shape = self.integers("image", 1, _CHANNELS, _EXTENT, _EXTENT)
        y = self.node("Reshape", [rows, shape], f"{name}.image")
        scale = self.random.uniform(0.8, 1.2, (_CHANNELS, 1, 1))
        y = self.node("Mul", [y, self.constant(f"{name}.scale", scale)], f"{name}.scaled")
        bias = self.constant(f"{name}.bias", self.biases(_CHANNELS)[:, None, None])
        return self.node("Add", [y, bias], name)

    def silu(self, name: str, x: str) -> str:
        """Add x * sigmoid(x)."""
        return self.node("Mul", [x, self.node("Sigmoid", [x], f"{name}.sigmoid")], name)

    def convolved(self, name: str, x: str) -> str:
        """Add a normalisation, SiLU and a convolution of 3 x 3."""
        x = self.silu(f"{name}.on", self.grouped_norm(f"{name}.norm", x))
        return self.conv(name, x, ConvLayer(_CHANNELS, _CHANNELS, 3))

    def attended(self, name: str, x: str) -> str:
        """Add attention of all pixels to each other, and the data itself."""
        pixels = _EXTENT * _EXTENT
        sizes = Sizes(_CHANNELS, _HEADS, _CHANNELS, 1, tokens=pixels, vocabulary=1)
        y = self.grouped_norm(f"{name}.norm", x)
        y = self.node("Reshape", [y, self.integers("flat", 1, _CHANNELS, pixels)], f"{name}.flat")
        tokens = self.node("Transpose", [y], f"{name}.tokens", perm=[0, 2, 1])
        operands = [
            self.split(
                f"{name}.{part}.heads",
                self.linear(f"{name}.{part}", tokens, _CHANNELS, _CHANNELS),
                _HEADS,
                sizes.head,
            )
            for part in ("query", "key", "value")
        ]
        seen = self.attend(f"{name}.seen", operands, sizes)
        seen = self.linear(f"{name}.output", seen, _CHANNELS, _CHANNELS)
        seen = self.node("Transpose", [seen], f"{name}.channels", perm=[0, 2, 1])
        image = self.integers("image", 1, _CHANNELS, _EXTENT, _EXTENT)
        seen = self.node("Reshape", [seen, image], f"{name}.back")
        return self.node("Add", [x, seen], name)


def diffusion() -> ModelProto:
    """`input` [1, 32, 16, 16] and `time` [1, 64] to `output` [1, 32, 16, 16]."""
    network = _Diffusion(np.random.default_rng(0))
    x = network.convolved("first", "input")
    time = network.dense("time.dense", network.silu("time.on", "time"), _TIME, _CHANNELS)
    axes = network.integers("time.axes", 2, 3)
    x = network.node("Add", [x, network.node("Unsqueeze", [time, axes], "time.image")], "timed")
    x = network.node("Add", ["input", network.convolved("second", x)], "residual")
    output = network.attended("output", x)
    image = (1, _CHANNELS, _EXTENT, _EXTENT)
    inputs = {"input": (TensorProto.FLOAT, image), "time": (TensorProto.FLOAT, (1, _TIME))}
    return network.model("diffusion", inputs, {output: image})

"""A small MobileNetV3 (Howard et al., ICCV'19): hard swish, some blocks with gates."""

from __future__ import annotations

from onnx import ModelProto

from tandem.scripts.bench.small.gated_convolutions import GatedBlock, gated_network

_BLOCKS = (
    GatedBlock(16, 16, 3, 2, gated=True, activation="Relu"),
    GatedBlock(64, 24, 3, 2, gated=False, activation="Relu"),
    GatedBlock(88, 24, 3, 1, gated=False, activation="Relu"),
    GatedBlock(96, 40, 5, 2, gated=True, activation="HardSwish"),
    GatedBlock(160, 40, 5, 1, gated=True, activation="HardSwish"),
)


def mobile() -> ModelProto:
    """`input` [1, 3, 64, 64] to `output` [1, 10]."""
    return gated_network("mobile", 64, _BLOCKS, 160, "HardSwish")

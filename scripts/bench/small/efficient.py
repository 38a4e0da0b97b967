"""A small EfficientNet (Tan and Le, ICML'19): SiLU, all blocks with gates."""

from __future__ import annotations

from onnx import ModelProto

from tandem.scripts.bench.small.gated_convolutions import GatedBlock, gated_network

_BLOCKS = tuple(
    GatedBlock(width, outputs, kernel, stride, gated=True, activation="Silu")
    for width, outputs, kernel, stride in (
        *((16, 16, 3, 1), (96, 24, 3, 2), (144, 24, 3, 1)),
        *((144, 40, 5, 2), (240, 40, 5, 1)),
    )
)


def efficient() -> ModelProto:
    """`input` [1, 3, 64, 64] to `output` [1, 10]."""
    return gated_network("efficient", 64, _BLOCKS, 160, "Silu")

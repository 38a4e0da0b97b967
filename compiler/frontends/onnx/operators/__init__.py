"""The table of supported ONNX operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tandem.compiler.frontends.onnx.converter import Converters, by_name
from tandem.compiler.frontends.onnx.operators import (
    constants,
    control_flow,
    conv_transpose,
    convolutions,
    detection,
    einsum,
    elementwise,
    indexed,
    microsoft,
    normalise,
    optimisers,
    parts,
    products,
    quantised,
    recurrent,
    reductions,
    resize,
    sampling,
    selection,
    shapes,
    signals,
    unique,
    windows,
)

__all__ = ["CONVERTERS", "EXPANDED"]

CONVERTERS: Converters = by_name(
    (
        *constants.CONVERTERS,
        *control_flow.CONVERTERS,
        *conv_transpose.CONVERTERS,
        *convolutions.CONVERTERS,
        *detection.CONVERTERS,
        *einsum.CONVERTERS,
        *elementwise.CONVERTERS,
        *indexed.CONVERTERS,
        *microsoft.CONVERTERS,
        *normalise.CONVERTERS,
        *optimisers.CONVERTERS,
        *parts.CONVERTERS,
        *products.CONVERTERS,
        *quantised.CONVERTERS,
        *recurrent.CONVERTERS,
        *reductions.CONVERTERS,
        *resize.CONVERTERS,
        *sampling.CONVERTERS,
        *selection.CONVERTERS,
        *shapes.CONVERTERS,
        *signals.CONVERTERS,
        *unique.CONVERTERS,
        *windows.CONVERTERS,
    )
)


EXPANDED: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "Attention": (23, 24, 25),
        "BlackmanWindow": (17,),
        "CausalConvWithState": (27,),
        "CenterCropPad": (18,),
        "HammingWindow": (17,),
        "HannWindow": (17,),
        "LinearAttention": (27,),
        "MeanVarianceNormalization": (9, 13),
        "NegativeLogLikelihoodLoss": (12, 13, 22),
        "RotaryEmbedding": (23,),
        "SoftmaxCrossEntropyLoss": (12, 13),
        "SwiGLU": (28,),
        "ai.onnx.preview.FlexAttention": (1,),
    }
)
"""Operators, with versions, that are replaced by the functions that ONNX defines them as."""

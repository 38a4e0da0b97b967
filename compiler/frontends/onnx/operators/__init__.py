"""The table of supported ONNX operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compiler.frontends.onnx.converter import Converters, by_name
from compiler.frontends.onnx.operators import (
    constants,
    control_flow,
    elementwise,
    normalise,
    parts,
    products,
    quantised,
    recurrent,
    reductions,
    resize,
    shapes,
    windows,
)

__all__ = ["CONVERTERS", "EXPANDED"]

CONVERTERS: Converters = by_name(
    (
        *constants.CONVERTERS,
        *control_flow.CONVERTERS,
        *elementwise.CONVERTERS,
        *normalise.CONVERTERS,
        *parts.CONVERTERS,
        *products.CONVERTERS,
        *quantised.CONVERTERS,
        *recurrent.CONVERTERS,
        *reductions.CONVERTERS,
        *resize.CONVERTERS,
        *shapes.CONVERTERS,
        *windows.CONVERTERS,
    )
)


EXPANDED: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "Attention": (23, 24, 25),
        "CausalConvWithState": (27,),
        "CenterCropPad": (18,),
        "RotaryEmbedding": (23,),
        "SwiGLU": (28,),
    }
)
"""Operators, with versions, that are replaced by the function bodies in their ONNX schemas.

The expansion was verified for these operators only: for others the `onnx` package may omit defaults
of attributes, which changes results.
"""

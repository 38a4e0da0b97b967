"""ONNX Runtime's own operators, of the domain `com.microsoft`."""

from __future__ import annotations

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.operators.microsoft import (
    attention,
    dynamic,
    fused,
    grouped_attention,
    multi_head_attention,
    normalise,
    packed_weights,
    quantised,
    quantised_layers,
    rotary,
)

__all__ = ["CONVERTERS"]

CONVERTERS: tuple[Converter, ...] = (
    *attention.CONVERTERS,
    *dynamic.CONVERTERS,
    *fused.CONVERTERS,
    *grouped_attention.CONVERTERS,
    *multi_head_attention.CONVERTERS,
    *normalise.CONVERTERS,
    *packed_weights.CONVERTERS,
    *quantised.CONVERTERS,
    *quantised_layers.CONVERTERS,
    *rotary.CONVERTERS,
)

"""ONNX Runtime's own operators, of the domain `com.microsoft`."""

from __future__ import annotations

from compiler.frontends.onnx.converter import Converter
from compiler.frontends.onnx.operators.microsoft import (
    attention,
    dynamic,
    fused,
    grouped_attention,
    normalise,
    quantised,
    rotary,
)

__all__ = ["CONVERTERS"]

CONVERTERS: tuple[Converter, ...] = (
    *attention.CONVERTERS,
    *dynamic.CONVERTERS,
    *fused.CONVERTERS,
    *grouped_attention.CONVERTERS,
    *normalise.CONVERTERS,
    *quantised.CONVERTERS,
    *rotary.CONVERTERS,
)

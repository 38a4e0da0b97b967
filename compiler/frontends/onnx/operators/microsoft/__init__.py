"""ONNX Runtime's own operators, of the domain `com.microsoft`."""

from __future__ import annotations

from compiler.frontends.onnx.converter import Converter
from compiler.frontends.onnx.operators.microsoft import (
    attention,
    dynamic,
    fused,
    normalise,
    quantised,
)

__all__ = ["CONVERTERS"]

CONVERTERS: tuple[Converter, ...] = (
    *attention.CONVERTERS,
    *dynamic.CONVERTERS,
    *fused.CONVERTERS,
    *normalise.CONVERTERS,
    *quantised.CONVERTERS,
)

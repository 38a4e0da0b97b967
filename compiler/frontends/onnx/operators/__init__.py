"""Every operator of ONNX that is supported."""

from compiler.frontends.onnx.converter import Converters, by_name
from compiler.frontends.onnx.operators import (
    constants,
    elementwise,
    normalise,
    parts,
    products,
    quantised,
    reductions,
    resize,
    shapes,
    windows,
)

__all__ = ["CONVERTERS"]

CONVERTERS: Converters = by_name(
    (
        *constants.CONVERTERS,
        *elementwise.CONVERTERS,
        *normalise.CONVERTERS,
        *parts.CONVERTERS,
        *products.CONVERTERS,
        *quantised.CONVERTERS,
        *reductions.CONVERTERS,
        *resize.CONVERTERS,
        *shapes.CONVERTERS,
        *windows.CONVERTERS,
    )
)

"""Whether ONNX's own checker and inference of shapes take a model."""

from __future__ import annotations

import onnx
from onnx import ModelProto

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.ceil_pools import with_corrected_pools
from tandem.compiler.frontends.onnx.one_element_ranges import with_scalar_ranges
from tandem.compiler.frontends.onnx.reading import guarded


def legal(model: ModelProto) -> None:
    """Raise a `FrontendError` if ONNX's checker or strict shape inference rejects the model.

    What that inference is too strict with is legal: pools with `ceil_mode` that have the shapes of
    opset 22 in older opsets, and operands of Range that have one element and axes.
    """
    guarded(lambda: onnx.checker.check_model(model))
    try:
        _infer(model)
    except FrontendError:
        corrected = _corrected(model)
        if corrected is model:
            raise
        _infer(corrected)


def _infer(model: ModelProto) -> None:
    guarded(lambda: onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True))


def _corrected(model: ModelProto) -> ModelProto:
    """The model without what inference is too strict with; itself if there is nothing of it."""
    model = with_corrected_pools(model) or model
    return with_scalar_ranges(model) or model

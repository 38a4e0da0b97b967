"""Networks in int8: what ONNX Runtime's static quantisation makes of a float32 model."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

_SAMPLES: Final = 8
_WORDS: Final = 50
"""Integer inputs are token numbers, masks or kinds of tokens: below this, or 0 and 1."""


class _Noise(CalibrationDataReader):  # type: ignore[misc]
    """Random inputs of a model."""

    def __init__(self, model: ModelProto) -> None:
        random = np.random.default_rng(0)
        self._samples = iter([_inputs(model, random) for _ in range(_SAMPLES)])

    def get_next(self) -> Mapping[str, NDArray[Any]] | None:
        """The next sample; None after the last."""
        return next(self._samples, None)


def _inputs(model: ModelProto, random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Random values for the inputs of a model."""
    found: dict[str, NDArray[Any]] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [axis.dim_value for axis in kind.shape.dim]
        if kind.elem_type == TensorProto.FLOAT:
            found[value.name] = random.standard_normal(shape).astype(np.float32)
        else:
            most = _WORDS if value.name == "ids" else 2
            found[value.name] = random.integers(0, most, shape)
    return found


def quantised(model: ModelProto) -> ModelProto:
    """The model with QuantizeLinear and DequantizeLinear around its layers: uint8 activations, as
    ONNX Runtime prefers, and int8 weights with a scale for each channel."""
    level = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it recommends a preparation that these need not
    try:
        with TemporaryDirectory() as folder:
            before, after = Path(folder, "float32.onnx"), Path(folder, "int8.onnx")
            onnx.save(model, before)
            quantize_static(
                before,
                after,
                _Noise(model),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
            return onnx.load(after)
    finally:
        logging.root.setLevel(level)

"""Networks in int8: what ONNX Runtime's static quantisation makes of a float32 model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import ModelProto
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

_Feeds = Mapping[str, NDArray[Any]]
"""Arrays by the names of inputs."""


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    """The samples of a calibration, one after the other."""

    def __init__(self, samples: Iterable[_Feeds]) -> None:
        self._samples = iter(samples)

    def get_next(self) -> _Feeds | None:
        """The next sample; None after the last."""
        return next(self._samples, None)


def qdq_model(model: ModelProto, samples: Iterable[_Feeds]) -> ModelProto:
    """The model with QuantizeLinear and DequantizeLinear around its layers: uint8 activations, as
    ONNX Runtime prefers, calibrated with samples, and int8 weights with a scale for each
    channel."""
    level = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it recommends a preparation that these need not
    try:
        with TemporaryDirectory() as folder:
            before, after = Path(folder, "float32.onnx"), Path(folder, "int8.onnx")
            onnx.save(model, before)
            quantize_static(
                before,
                after,
                _Samples(samples),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
            return onnx.load(after)
    finally:
        logging.root.setLevel(level)

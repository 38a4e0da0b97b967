"""Quantised versions of exported networks, by ONNX Runtime's quantiser."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import onnx
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from tests.support.exported.catalogue import ExportedNetwork
from tests.support.exported.weights import drawn

Quantiser: TypeAlias = Callable[[Path, ExportedNetwork, int], onnx.ModelProto]
"""Makes a quantised model of a network's file, the network, and a seed."""
_SAMPLES = 4


class _Samples(CalibrationDataReader):
    """Random inputs to calibrate with."""

    def __init__(self, network: ExportedNetwork, seed: int) -> None:
        torch.manual_seed(seed)
        self._left: Iterator[Mapping[str, NDArray[Any]]] = iter(
            [
                {name: value.numpy() for name, value in drawn(network.inputs).items()}
                for _ in range(_SAMPLES)
            ]
        )

    def get_next(self) -> Mapping[str, NDArray[Any]] | None:
        return next(self._left, None)


def _static(
    path: Path, network: ExportedNetwork, seed: int, activations: QuantType
) -> onnx.ModelProto:
    """A model that states its scales (QDQ), with int8 weights per channel.

    Weights have 7 bits behind activations of uint8, as the quantiser's own advice is.
    """
    with tempfile.TemporaryDirectory() as folder:
        simple, result = Path(folder) / "simple.onnx", Path(folder) / "quantised.onnx"
        quant_pre_process(str(path), str(simple), skip_symbolic_shape=True)
        quantize_static(
            str(simple),
            str(result),
            _Samples(network, seed),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=activations is QuantType.QUInt8,
            activation_type=activations,
            weight_type=QuantType.QInt8,
        )
        return onnx.load(result)


def _dynamic(path: Path, network: ExportedNetwork, seed: int) -> onnx.ModelProto:
    """A model that measures the scales of activations in each run."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "quantised.onnx"
        quantize_dynamic(str(path), str(result), weight_type=QuantType.QInt8, reduce_range=True)
        return onnx.load(result)


_S8S8 = partial(_static, activations=QuantType.QInt8)
_U8S8 = partial(_static, activations=QuantType.QUInt8)
QUANTISED: Mapping[str, Mapping[str, Quantiser]] = MappingProxyType(
    {
        "resnet": {"resnet_s8s8": _S8S8},
        "mobilenet_v2": {"mobilenet_v2_u8s8": _U8S8},
        "bert": {"bert_dynamic": _dynamic},
    }
)
"""By network, the quantised versions by name."""

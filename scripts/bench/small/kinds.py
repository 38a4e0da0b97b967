"""The twelve networks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from onnx import ModelProto

from tandem.scripts.bench.small.autoencoder import autoencoder
from tandem.scripts.bench.small.decoder import decoder
from tandem.scripts.bench.small.detector import detector
from tandem.scripts.bench.small.diffusion import diffusion
from tandem.scripts.bench.small.efficient import efficient
from tandem.scripts.bench.small.keywords import keywords
from tandem.scripts.bench.small.language import language
from tandem.scripts.bench.small.mobile import mobile
from tandem.scripts.bench.small.recurrent import recurrent
from tandem.scripts.bench.small.residual import residual
from tandem.scripts.bench.small.segmenter import segmenter
from tandem.scripts.bench.small.speech import speech

KINDS: Final[Mapping[str, Callable[[], ModelProto]]] = MappingProxyType(
    {
        "ResNet": residual,
        "MobileNetV3": mobile,
        "EfficientNet": efficient,
        "YOLO": detector,
        "U-Net": segmenter,
        "DS-CNN": keywords,
        "autoencoder": autoencoder,
        "GRU": recurrent,
        "diffusion": diffusion,
        "Whisper": speech,
        "BERT": language,
        "Llama": decoder,
    }
)

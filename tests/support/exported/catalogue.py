"""The exported networks by name, with their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from tests.support.exported import (
    classifiers,
    mobile,
    pictures,
    sequences,
    transformers,
    vision_transformers,
)


@dataclass(frozen=True, slots=True)
class Operand:
    """An input: real numbers, or indices of a table with so many `rows`."""

    shape: tuple[int, ...]
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class ExportedNetwork:
    """A network to export.

    Attributes
    ----------
    inputs
        By name, in the order of the network's parameters.
    open_batch
        Whether the file leaves the first extent of all inputs and outputs open.
    """

    make: Callable[[], nn.Module]
    inputs: Mapping[str, Operand]
    open_batch: bool = False


def _image(
    make: Callable[[], nn.Module],
    extent: int = 32,
    channels: int = 3,
    *,
    open_batch: bool = False,
) -> ExportedNetwork:
    return ExportedNetwork(make, {"image": Operand((1, channels, extent, extent))}, open_batch)


def _words(make: Callable[[], nn.Module], *, open_batch: bool = False) -> ExportedNetwork:
    words = Operand((1, transformers.LENGTH), transformers.WORDS)
    return ExportedNetwork(make, {"words": words}, open_batch)


def networks() -> Mapping[str, ExportedNetwork]:
    """All networks by name."""
    length = transformers.LENGTH
    first, second, third = sequences.TABLES
    return {
        "vgg": _image(classifiers.vgg, open_batch=True),
        "resnet": _image(classifiers.resnet, open_batch=True),
        "resnet_bottleneck": _image(classifiers.resnet_bottleneck),
        "resnext": _image(classifiers.resnext),
        "densenet": _image(classifiers.densenet),
        "inception": _image(classifiers.inception, open_batch=True),
        "squeezenet": _image(classifiers.squeezenet),
        "convnext": _image(classifiers.convnext),
        "mobilenet_v2": _image(mobile.mobilenet_v2, open_batch=True),
        "mobilenet_v3": _image(mobile.mobilenet_v3),
        "efficientnet": _image(mobile.efficientnet),
        "shufflenet_v2": _image(mobile.shufflenet_v2, open_batch=True),
        "keyword_spotting": ExportedNetwork(
            mobile.keyword_spotting, {"spectrogram": Operand((1, 1, 49, 10))}
        ),
        "unet": _image(pictures.UNet),
        "segmentation": _image(pictures.Segmentation, open_batch=True),
        "yolo": _image(pictures.Yolo),
        "ssd": _image(pictures.Ssd, open_batch=True),
        "super_resolution": _image(pictures.super_resolution, 16, 1),
        "autoencoder": _image(pictures.autoencoder, 28, 1),
        "dcgan": ExportedNetwork(pictures.dcgan, {"noise": Operand((1, 32, 1, 1))}),
        "wavenet": ExportedNetwork(sequences.WaveNet, {"sound": Operand((1, 1, 64))}),
        "video": ExportedNetwork(sequences.video, {"frames": Operand((1, 3, 4, 16, 16))}),
        "lstm": ExportedNetwork(
            sequences.LanguageModel, {"words": Operand((8, 1), sequences.WORDS)}
        ),
        "gru": ExportedNetwork(sequences.SpeechClassifier, {"sound": Operand((1, 1, 128))}),
        "recommender": ExportedNetwork(
            sequences.Recommender,
            {
                "numbers": Operand((1, 13)),
                "first": Operand((1,), first),
                "second": Operand((1,), second),
                "third": Operand((1,), third),
            },
            open_batch=True,
        ),
        "point_net": ExportedNetwork(sequences.PointNet, {"points": Operand((1, 3, 64))}),
        "bert": ExportedNetwork(
            transformers.Bert,
            {
                "words": Operand((1, length), transformers.WORDS),
                "mask": Operand((1, length), 2),
                "kinds": Operand((1, length), 2),
            },
            open_batch=True,
        ),
        "gpt": _words(transformers.Gpt),
        "llama": _words(transformers.Llama, open_batch=True),
        "vit": _image(vision_transformers.Vit, open_batch=True),
        "swin": _image(vision_transformers.Swin),
        "mlp_mixer": _image(vision_transformers.MlpMixer),
        "whisper": ExportedNetwork(
            vision_transformers.WhisperEncoder, {"spectrogram": Operand((1, 20, 40))}
        ),
    }

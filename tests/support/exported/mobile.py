"""Networks for small devices: MobileNets, ShuffleNet, EfficientNet, keyword spotting."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.support.exported.layers import Classifier, Residual, SqueezeExcite, convolution


def mobilenet_v2() -> nn.Module:
    """MobileNetV2: inverted residuals with ReLU6."""
    return nn.Sequential(
        convolution(3, 16, 3, 2, activation=nn.ReLU6),
        _inverted(16, 16, 3, 1, 4, nn.ReLU6),
        _inverted(16, 24, 3, 2, 4, nn.ReLU6),
        _inverted(24, 24, 3, 1, 4, nn.ReLU6),
        convolution(24, 64, 1, activation=nn.ReLU6),
        Classifier(64),
    )


def mobilenet_v3() -> nn.Module:
    """MobileNetV3: hard swish, and squeeze-and-excitation with a hard sigmoid."""
    return nn.Sequential(
        convolution(3, 16, 3, 2, activation=nn.Hardswish),
        _inverted(16, 16, 3, 2, 2, nn.ReLU, nn.Hardsigmoid()),
        _inverted(16, 24, 5, 2, 4, nn.Hardswish, nn.Hardsigmoid()),
        _inverted(24, 24, 5, 1, 2, nn.Hardswish, nn.Hardsigmoid()),
        convolution(24, 48, 1, activation=nn.Hardswish),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 64), nn.Hardswish()),
        nn.Linear(64, 10),
    )


def efficientnet() -> nn.Module:
    """EfficientNet: SiLU, and squeeze-and-excitation with a sigmoid."""
    return nn.Sequential(
        convolution(3, 16, 3, 2, activation=nn.SiLU),
        _inverted(16, 16, 3, 1, 1, nn.SiLU, nn.Sigmoid()),
        _inverted(16, 24, 3, 2, 4, nn.SiLU, nn.Sigmoid()),
        _inverted(24, 24, 5, 1, 4, nn.SiLU, nn.Sigmoid()),
        convolution(24, 64, 1, activation=nn.SiLU),
        Classifier(64),
    )


def shufflenet_v2() -> nn.Module:
    """ShuffleNetV2: halves of the channels, shuffled after each unit."""
    return nn.Sequential(
        *(convolution(3, 16, 3, 2), nn.MaxPool2d(3, 2, 1)),
        *(ShuffleUnit(16, 32, 2), ShuffleUnit(32, 32, 1), ShuffleUnit(32, 32, 1)),
        *(convolution(32, 64, 1), Classifier(64)),
    )


def keyword_spotting() -> nn.Module:
    """DS-CNN: depthwise separable convolutions over a spectrogram of 49 x 10."""
    stem = nn.Conv2d(1, 32, (10, 4), 2, (5, 1), bias=False)
    separable = [
        nn.Sequential(convolution(32, 32, 3, groups=32), convolution(32, 32, 1)) for _ in range(3)
    ]
    return nn.Sequential(
        *(stem, nn.BatchNorm2d(32), nn.ReLU(), *separable),
        *(nn.AvgPool2d((25, 5)), nn.Flatten(), nn.Linear(32, 12)),
    )


class ShuffleUnit(nn.Module):
    """A unit of ShuffleNetV2; with a stride both branches take all channels."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half = outputs // 2
        into = inputs if stride > 1 else half
        self.first = None
        if stride > 1:
            self.first = nn.Sequential(
                convolution(inputs, inputs, 3, stride, inputs, activation=None),
                convolution(inputs, half, 1),
            )
        self.second = nn.Sequential(
            convolution(into, half, 1),
            convolution(half, half, 3, stride, half, activation=None),
            convolution(half, half, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.first is None:
            kept, changed = x.chunk(2, 1)
        else:
            kept, changed = self.first(x), x
        return shuffled(torch.cat((kept, self.second(changed)), 1), 2)


def shuffled(x: Tensor, groups: int) -> Tensor:
    """The channels of all groups, alternating."""
    batch, channels, height, width = x.shape
    x = x.view(batch, groups, channels // groups, height, width)
    return x.transpose(1, 2).reshape(batch, channels, height, width)


def _inverted(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int,
    expansion: int,
    activation: type[nn.Module],
    gate: nn.Module | None = None,
) -> nn.Module:
    """An inverted residual: wide inside, with a depthwise convolution; gated if there is a gate."""
    width = inputs * expansion
    layers = [
        convolution(inputs, width, 1, activation=activation),
        convolution(width, width, kernel, stride, width, activation),
    ]
    if gate is not None:
        layers.append(SqueezeExcite(width, activation(), gate))
    layers.append(convolution(width, outputs, 1, activation=None))
    branch = nn.Sequential(*layers)
    return Residual(branch) if inputs == outputs and stride == 1 else branch

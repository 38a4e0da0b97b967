"""Layers that several of the exported networks are made of."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

DIVISOR = 4
"""Squeeze-and-excitation has this many times fewer channels inside."""


def convolution(
    inputs: int,
    outputs: int,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    activation: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:
    """A convolution that keeps the extents (divided by `stride`), batch normalisation, and an
    activation function if any."""
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([activation()] if activation is not None else []))


def perceptron(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers of these widths, with an activation function between every two."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


class Residual(nn.Module):
    """The sum of a branch and of the input, which `skip` brings to the same shape."""

    def __init__(self, branch: nn.Module, skip: nn.Module | None = None) -> None:
        super().__init__()
        self.branch = branch
        self.skip = nn.Identity() if skip is None else skip

    def forward(self, x: Tensor) -> Tensor:
        return self.branch(x) + self.skip(x)


class Concatenation(nn.Module):
    """The results of all branches, concatenated along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class SqueezeExcite(nn.Module):
    """Channels scaled by a gate, which depends on the means of all channels."""

    def __init__(self, channels: int, activation: nn.Module, gate: nn.Module) -> None:
        super().__init__()
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, channels // DIVISOR, 1),
            activation,
            nn.Conv2d(channels // DIVISOR, channels, 1),
            gate,
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale(x)


class Classifier(nn.Sequential):
    """The mean of each channel, and a linear layer."""

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))

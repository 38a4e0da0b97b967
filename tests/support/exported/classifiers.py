"""Networks that classify images, the large ones of their time: VGG to ConvNeXt."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.support.exported.layers import Classifier, Concatenation, Residual, convolution


def vgg() -> nn.Module:
    """Plain convolutions with biases, max pooling, three linear layers."""
    layers: list[nn.Module] = []
    inputs = 3
    for outputs in (16, 32, 48):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    layers += [nn.Linear(4 * inputs, 64), nn.ReLU(), nn.Dropout()]
    layers += [nn.Linear(64, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 10)]
    return nn.Sequential(*layers)


def resnet() -> nn.Module:
    """ResNet of basic blocks."""
    return nn.Sequential(
        _stem(16), _basic(16, 16, 1), _basic(16, 32, 2), _basic(32, 64, 2), Classifier(64)
    )


def resnet_bottleneck() -> nn.Module:
    """ResNet of bottleneck blocks."""
    return nn.Sequential(
        _stem(16), _bottleneck(16, 32, 1, 1), _bottleneck(32, 64, 2, 1), Classifier(64)
    )


def resnext() -> nn.Module:
    """ResNeXt: bottlenecks with grouped convolutions."""
    return nn.Sequential(
        _stem(16), _bottleneck(16, 32, 1, 4), _bottleneck(32, 64, 2, 4), Classifier(64)
    )


def densenet() -> nn.Module:
    """DenseNet: layers that take the results of all layers before, and transitions."""
    first, channels = _dense_block(16, 8, 3)
    halved = channels // 2
    last, whole = _dense_block(halved, 8, 3)
    transition = nn.Sequential(
        nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, halved, 1, bias=False)
    )
    return nn.Sequential(
        *(_stem(16), first, transition, nn.AvgPool2d(2), last),
        *(nn.BatchNorm2d(whole), nn.ReLU(), Classifier(whole)),
    )


def inception() -> nn.Module:
    """GoogLeNet's modules: four branches side by side; separable kernels as Inception v3's."""
    pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), convolution(48, 8, 1))
    separable = nn.Sequential(convolution(48, 16, 1), _strip(16, (1, 7)), _strip(16, (7, 1)))
    return nn.Sequential(
        convolution(3, 16, 3, 2),
        Concatenation(
            convolution(16, 16, 1),
            nn.Sequential(convolution(16, 8, 1), convolution(8, 16, 3)),
            nn.Sequential(convolution(16, 4, 1), convolution(4, 8, 5)),
            nn.Sequential(nn.AvgPool2d(3, 1, 1), convolution(16, 8, 1)),
        ),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Concatenation(convolution(48, 16, 1), separable, pooled),
        Classifier(40),
    )


def squeezenet() -> nn.Module:
    """SqueezeNet: fire modules, and a convolution as the classifier."""
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)),
        *(_fire(16, 8, 16), _fire(32, 8, 24), nn.MaxPool2d(2), _fire(48, 12, 32)),
        *(nn.Dropout(), nn.Conv2d(64, 10, 1), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1)),
    )


def convnext() -> nn.Module:
    """ConvNeXt: depthwise 7 x 7, normalisation over channels, GELU, and a scale per channel."""
    down = nn.Sequential(ChannelNorm(16), nn.Conv2d(16, 32, 2, 2))
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 4, 4), ChannelNorm(16), ConvNextBlock(16), down, ConvNextBlock(32)),
        *(nn.AdaptiveAvgPool2d(1), ChannelNorm(32), nn.Flatten(), nn.Linear(32, 10)),
    )


class ChannelNorm(nn.Module):
    """Layer normalisation over the channels of an image, written with elementary operations."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        variance = centred.pow(2).mean(1, keepdim=True)
        return self.weight * (centred / torch.sqrt(variance + 1e-6)) + self.bias


class ConvNextBlock(nn.Module):
    """A block of ConvNeXt: the linear layers take the channels last."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.layers = nn.Sequential(
            nn.LayerNorm(channels, eps=1e-6),
            nn.Linear(channels, 4 * channels),
            nn.GELU(),
            nn.Linear(4 * channels, channels),
        )
        self.scale = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.layers(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * inner).permute(0, 3, 1, 2)


class Dense(nn.Module):
    """A layer of DenseNet: appends new channels to its input's."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, 2 * growth, 1, bias=False)),
            *(nn.BatchNorm2d(2 * growth), nn.ReLU()),
            nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.layers(x)), 1)


def _stem(channels: int) -> nn.Module:
    return nn.Sequential(convolution(3, channels, 7, 2), nn.MaxPool2d(3, 2, 1))


def _basic(inputs: int, outputs: int, stride: int) -> nn.Module:
    branch = nn.Sequential(
        convolution(inputs, outputs, 3, stride),
        convolution(outputs, outputs, 3, activation=None),
    )
    return nn.Sequential(Residual(branch, _skip(inputs, outputs, stride)), nn.ReLU())


def _bottleneck(inputs: int, outputs: int, stride: int, groups: int) -> nn.Module:
    width = outputs // 2
    branch = nn.Sequential(
        convolution(inputs, width, 1),
        convolution(width, width, 3, stride, groups),
        convolution(width, outputs, 1, activation=None),
    )
    return nn.Sequential(Residual(branch, _skip(inputs, outputs, stride)), nn.ReLU())


def _skip(inputs: int, outputs: int, stride: int) -> nn.Module | None:
    if inputs == outputs and stride == 1:
        return None
    return convolution(inputs, outputs, 1, stride, activation=None)


def _dense_block(inputs: int, growth: int, layers: int) -> tuple[nn.Module, int]:
    """The block, and the channels that it returns."""
    block = (Dense(inputs + growth * layer, growth) for layer in range(layers))
    return nn.Sequential(*block), inputs + growth * layers


def _strip(channels: int, kernel: tuple[int, int]) -> nn.Module:
    """A convolution with a kernel of one row or one column."""
    padding = kernel[0] // 2, kernel[1] // 2
    layer = nn.Conv2d(channels, channels, kernel, padding=padding, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(channels), nn.ReLU())


def _fire(inputs: int, squeezed: int, expanded: int) -> nn.Module:
    """SqueezeNet's module: 1 x 1, then 1 x 1 and 3 x 3 side by side."""
    wide = nn.Sequential(nn.Conv2d(squeezed, expanded, 3, padding=1), nn.ReLU())
    narrow = nn.Sequential(nn.Conv2d(squeezed, expanded, 1), nn.ReLU())
    squeeze = nn.Sequential(nn.Conv2d(inputs, squeezed, 1), nn.ReLU())
    return nn.Sequential(squeeze, Concatenation(narrow, wide))

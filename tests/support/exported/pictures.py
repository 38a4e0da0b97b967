"""Networks whose results are pictures, masks or boxes: U-Net to detectors and generators."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, leaky_relu

from tests.support.exported.layers import Concatenation, convolution

ANCHORS, CLASSES = 3, 5


class UNet(nn.Module):
    """U-Net: transposed convolutions, and concatenations with the results of the way down."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.down = nn.ModuleList((_double(3, width), _double(width, 2 * width)))
        self.middle = _double(2 * width, 4 * width)
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * channels, channels, 2, 2) for channels in (2 * width, width)
        )
        self.merge = nn.ModuleList(_double(2 * each, each) for each in (2 * width, width))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for layer in self.down:
            x = layer(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(kept), strict=True):
            x = merge(torch.cat((skip, up(x)), 1))
        return self.head(x)


class Segmentation(nn.Module):
    """FCN with DeepLab's dilated branches, and bilinear upsampling to the picture's extents."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, width, 3, 2), convolution(width, 2 * width, 3, 2))
        self.branches = Concatenation(
            convolution(2 * width, width, 1),
            *(_dilated(2 * width, width, dilation) for dilation in (2, 3)),
        )
        self.head = nn.Conv2d(3 * width, 6, 1)

    def forward(self, x: Tensor) -> Tensor:
        coarse = self.head(self.branches(self.stem(x)))
        return interpolate(coarse, size=x.shape[2:], mode="bilinear", align_corners=False)


class Yolo(nn.Module):
    """YOLO: leaky ReLU, pyramid pooling, nearest upsampling, boxes decoded at two scales."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        outputs = ANCHORS * (5 + CLASSES)
        self.stem = nn.Sequential(_leaky(3, width, 2), _leaky(width, 2 * width, 2))
        self.down = _leaky(2 * width, 3 * width, 2)
        self.reduce = _leaky(3 * width, width, 1, 1)
        self.pools = nn.ModuleList(nn.MaxPool2d(size, 1, size // 2) for size in (3, 5))
        self.merge = _leaky(3 * width, 2 * width, 1, 1)
        self.coarse = nn.Conv2d(2 * width, outputs, 1)
        self.fine = nn.Sequential(_leaky(4 * width, 2 * width), nn.Conv2d(2 * width, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        early = self.stem(x)
        deep = self.reduce(self.down(early))
        deep = self.merge(torch.cat([deep, *(pool(deep) for pool in self.pools)], 1))
        fine = self.fine(torch.cat((early, interpolate(deep, scale_factor=2.0)), 1))
        return torch.cat((decoded(self.coarse(deep)), decoded(fine)), 1)


def decoded(x: Tensor) -> Tensor:
    """Boxes [batch, boxes, 5 + classes] of a detector's head, in cells of the grid."""
    batch, _, height, width = x.shape
    x = x.view(batch, ANCHORS, 5 + CLASSES, height, width).permute(0, 1, 3, 4, 2)
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    grid = torch.stack((columns, rows), -1).float()
    corner = torch.sigmoid(x[..., :2]) * 2 - 0.5 + grid
    extents = (torch.sigmoid(x[..., 2:4]) * 2) ** 2
    found = torch.cat((corner, extents, torch.sigmoid(x[..., 4:])), -1)
    return found.reshape(batch, -1, 5 + CLASSES)


class Ssd(nn.Module):
    """SSD: heads for boxes and for classes on feature maps of three extents."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        channels = (width, 2 * width, 3 * width)
        self.stem = convolution(3, width, 3, 2)
        self.stages = nn.ModuleList(
            convolution(inputs, outputs, 3, 2)
            for inputs, outputs in zip((width, *channels), channels, strict=False)
        )
        self.boxes = nn.ModuleList(
            nn.Conv2d(inputs, 4 * ANCHORS, 3, padding=1) for inputs in channels
        )
        self.classes = nn.ModuleList(
            nn.Conv2d(inputs, CLASSES * ANCHORS, 3, padding=1) for inputs in channels
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x, boxes, classes = self.stem(x), [], []
        for stage, box, kind in zip(self.stages, self.boxes, self.classes, strict=True):
            x = stage(x)
            boxes.append(box(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4))
            classes.append(kind(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, CLASSES))
        return torch.cat(boxes, 1), torch.cat(classes, 1).softmax(-1)


def super_resolution() -> nn.Module:
    """ESPCN: convolutions, and channels moved to pixels."""
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.PReLU(32)),
        *(nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3)),
    )


def autoencoder() -> nn.Module:
    """Convolutions down to a code, and transposed convolutions up from it."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, 2, 1), nn.ELU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ELU()),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 32), nn.Linear(32, 32 * 7 * 7)),
        *(nn.Unflatten(1, (32, 7, 7)), nn.ConvTranspose2d(32, 16, 3, 2, 1, 1), nn.ELU()),
        *(nn.ConvTranspose2d(16, 1, 3, 2, 1, 1), nn.Sigmoid()),
    )


def dcgan() -> nn.Module:
    """DCGAN's generator: transposed convolutions from a vector to a picture."""
    layers: list[nn.Module] = []
    channels = (32, 32, 16, 8)
    for at, (inputs, outputs) in enumerate(pairwise(channels)):
        stride, padding = (2, 1) if at else (1, 0)
        layers.append(nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False))
        layers += [nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels[-1], 3, 4, 2, 1), nn.Tanh())


class Leaky(nn.Module):
    """Leaky ReLU with the slope of Darknet."""

    def forward(self, x: Tensor) -> Tensor:
        return leaky_relu(x, 0.1)


def _leaky(inputs: int, outputs: int, stride: int = 1, kernel: int = 3) -> nn.Module:
    return convolution(inputs, outputs, kernel, stride, activation=Leaky)


def _double(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(convolution(inputs, outputs), convolution(outputs, outputs))


def _dilated(inputs: int, outputs: int, dilation: int) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, 3, padding=dilation, dilation=dilation, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())

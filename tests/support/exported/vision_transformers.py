"""Transformers of images and sound, and a mixer: ViT, Swin, Whisper's encoder, MLP-Mixer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.support.exported.layers import Residual, perceptron
from tests.support.exported.transformers import Block, SelfAttention

WINDOW = 4


class Vit(nn.Module):
    """ViT: patches of 8 x 8, a class token, encoder blocks."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.places = nn.Parameter(torch.randn(1, 17, width) * 0.1)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Swin(nn.Module):
    """Swin: attention inside windows, shifted in the second block, and merging of patches."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(SwinBlock(width, 0), SwinBlock(width, WINDOW // 2))
        self.merge = nn.Sequential(
            nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)
        )
        self.last = SwinBlock(2 * width, 0)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.norm(self.patches(x).permute(0, 2, 3, 1)))
        corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        x = self.last(self.merge(torch.cat(corners, -1)))
        return self.head(x.mean((1, 2)))


class SwinBlock(nn.Module):
    """A block over images [batch, rows, columns, width]; windows are rolled by `shift`."""

    def __init__(self, width: int, shift: int) -> None:
        super().__init__()
        self.shift = shift
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, 3)
        self.perceptron = perceptron(width, 2 * width, width, activation=nn.GELU)
        self.bias = nn.Parameter(torch.randn(3, WINDOW**2, WINDOW**2) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        batch, rows, columns, width = x.shape
        inner = self.first(x)
        if self.shift:
            inner = torch.roll(inner, (-self.shift, -self.shift), (1, 2))
        split = batch, rows // WINDOW, WINDOW, columns // WINDOW, WINDOW, width
        windows = inner.view(split).transpose(2, 3)
        found = self.attention(windows.reshape(-1, WINDOW**2, width), self.bias)
        inner = found.view(windows.shape).transpose(2, 3).reshape(batch, rows, columns, width)
        if self.shift:
            inner = torch.roll(inner, (self.shift, self.shift), (1, 2))
        x = x + inner
        return x + self.perceptron(self.second(x))


class WhisperEncoder(nn.Module):
    """Whisper's encoder: two convolutions over a spectrogram, sinusoids, PyTorch's own layers."""

    def __init__(self, width: int = 32, heads: int = 4, length: int = 20) -> None:
        super().__init__()
        self.first = nn.Conv1d(20, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, 2, 1)
        self.register_buffer("places", _sinusoids(length, width))
        self.norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.perceptron = perceptron(width, 4 * width, width, activation=nn.GELU)

    def forward(self, spectrogram: Tensor) -> Tensor:
        gelu = nn.functional.gelu
        x = gelu(self.second(gelu(self.first(spectrogram)))).transpose(1, 2) + self.places
        inner = self.norm(x)
        x = x + self.attention(inner, inner, inner, need_weights=False)[0]
        return x + self.perceptron(self.inner_norm(x))


class MlpMixer(nn.Module):
    """MLP-Mixer: perceptrons that mix patches, and perceptrons that mix channels."""

    def __init__(self, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.layers = nn.Sequential(
            *(layer for _ in range(layers) for layer in (_mix_patches(width), _mix(width, 64)))
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.layers(x).mean(1))


class Transposed(nn.Module):
    """A layer over the last axis but one."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


def _mix_patches(width: int) -> nn.Module:
    mixer = Transposed(perceptron(16, 32, 16, activation=nn.GELU))
    return Residual(nn.Sequential(nn.LayerNorm(width), mixer))


def _mix(width: int, inner: int) -> nn.Module:
    mixer = perceptron(width, inner, width, activation=nn.GELU)
    return Residual(nn.Sequential(nn.LayerNorm(width), mixer))


def _sinusoids(length: int, width: int) -> Tensor:
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), 1)

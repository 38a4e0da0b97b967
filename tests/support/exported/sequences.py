"""Networks of sound, words, films, points and tables: convolutions of 1 and 3 axes, cells."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.support.exported.layers import perceptron

WORDS = 50
TABLES = (20, 30, 40)


class WaveNet(nn.Module):
    """WaveNet: causal convolutions with growing dilation, gates, and a sum of skips."""

    def __init__(self, width: int = 16, layers: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, width, 1)
        self.gated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 2, dilation=2**layer) for layer in range(layers)
        )
        self.residual = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.skip = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(width, 16, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        total = torch.zeros(())
        for gated, residual, skip in zip(self.gated, self.residual, self.skip, strict=True):
            padded = nn.functional.pad(x, (gated.dilation[0], 0))
            value, gate = gated(padded).chunk(2, 1)
            inner = torch.tanh(value) * torch.sigmoid(gate)
            total = total + skip(inner)
            x = x + residual(inner)
        return self.head(total)


def video() -> nn.Module:
    """C3D: convolutions and pooling over frames, rows and columns."""
    return nn.Sequential(
        *(nn.Conv3d(3, 8, 3, padding=1, bias=False), nn.BatchNorm3d(8), nn.ReLU()),
        *(nn.MaxPool3d((1, 2, 2)), nn.Conv3d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2)),
        *(nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 10)),
    )


class LanguageModel(nn.Module):
    """Embedding, two layers of LSTM, the logits of the next word, and the last states."""

    def __init__(self, units: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, units)
        self.cells = nn.LSTM(units, units, num_layers=2)
        self.head = nn.Linear(units, WORDS)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states, (hidden, cell) = self.cells(self.embedding(words))
        return self.head(states), hidden, cell


class SpeechClassifier(nn.Module):
    """Convolutions over sound, a GRU in both directions, and a classifier of the last state."""

    def __init__(self, units: int = 24) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(1, 16, 8, 4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.cells = nn.GRU(16, units, bidirectional=True)
        self.head = nn.Linear(2 * units, 12)

    def forward(self, sound: Tensor) -> Tensor:
        states, _ = self.cells(self.stem(sound).permute(2, 0, 1))
        return self.head(states[-1])


class Recommender(nn.Module):
    """DLRM: embeddings of categories, a perceptron of numbers, products of all pairs."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for rows in TABLES)
        self.bottom = perceptron(13, 32, width)
        vectors = len(TABLES) + 1
        pairs = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer("pairs", pairs[0] * vectors + pairs[1])
        self.top = perceptron(width + pairs.shape[1], 32, 1)

    def forward(self, numbers: Tensor, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
        dense = self.bottom(numbers)
        categories = zip(self.tables, (first, second, third), strict=True)
        vectors = torch.stack([dense, *(table(index) for table, index in categories)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        both = torch.cat((dense, products.index_select(1, self.pairs)), 1)
        return torch.sigmoid(self.top(both))


class PointNet(nn.Module):
    """PointNet: the same perceptron for every point, and the maximum over all points."""

    def __init__(self) -> None:
        super().__init__()
        self.align = nn.Sequential(_shared(3, 16), nn.AdaptiveMaxPool1d(1), nn.Flatten())
        self.matrix = nn.Linear(16, 9)
        self.points = nn.Sequential(_shared(3, 32), _shared(32, 64))
        self.head = perceptron(64, 32, 10)

    def forward(self, x: Tensor) -> Tensor:
        matrix = self.matrix(self.align(x)).view(-1, 3, 3) + torch.eye(3)
        aligned = torch.bmm(matrix, x)
        return self.head(self.points(aligned).max(2).values).log_softmax(1)


def _shared(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU())

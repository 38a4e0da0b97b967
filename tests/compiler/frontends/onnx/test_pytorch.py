"""Networks as PyTorch exports them, where it is installed, against ONNX Runtime."""

from __future__ import annotations

import io
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.onnx_runs import agree

torch = pytest.importorskip("torch", reason="what exports the models")
WORDS, STEPS = 100, 12
CELLS = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "RNN": torch.nn.RNN}


class LanguageModel(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Embedding, two layers of a cell, and the logits of the next word."""

    def __init__(self, cell: str, units: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, units)
        self.cells = CELLS[cell](units, units, num_layers=2)
        self.head = torch.nn.Linear(units, WORDS)

    def forward(self, words: Any) -> Any:
        states, last = self.cells(self.embedding(words))
        return self.head(states), last


class Generator(torch.nn.Module):  # type: ignore[misc, name-defined]
    """DCGAN's."""

    def __init__(self, width: int) -> None:
        super().__init__()
        layers: list[Any] = []
        channels = [100, 8 * width, 4 * width, 2 * width, width, 3]
        for at, (inputs, outputs) in enumerate(pairwise(channels)):
            stride, pad = (2, 1) if at else (1, 0)
            layers.append(torch.nn.ConvTranspose2d(inputs, outputs, 4, stride, pad, bias=False))
            if outputs == 3:
                layers.append(torch.nn.Tanh())
            else:
                layers += [torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return self.layers(x)


def exported(network: Any, operand: Any) -> onnx.ModelProto:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (operand,), file, input_names=["x"], dynamo=False)
    return onnx.load_from_string(file.getvalue())


def check(network: Any, operand: Any) -> None:
    network.eval()
    agree(exported(network, operand), {"x": operand.numpy()}, 1e-4)


@pytest.mark.parametrize("units", [64, 650])
@pytest.mark.parametrize("cell", CELLS)
def test_language_models(cell: str, units: int) -> None:
    torch.manual_seed(0)
    words = torch.from_numpy(np.random.default_rng(0).integers(0, WORDS, (STEPS, 2)))
    check(LanguageModel(cell, units), words)


def test_dcgan() -> None:
    torch.manual_seed(0)
    check(Generator(64), torch.randn(1, 100, 1, 1))

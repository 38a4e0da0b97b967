"""An LSTM language model as an ONNX model, with random weights.

Zaremba et al., Recurrent neural network regularization, 2014 (arXiv 1409.2329): the medium one, of
two layers of 650 cells, which is unrolled over 35 words of a vocabulary of 10,000.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import NetworkBuilder

_GATES = 4


def lstm(seed: int = 0) -> ModelProto:
    """The medium model: `ids` int64[1, 35] to `logits` [1, 35, 10000]."""
    return _lstm("lstm", 35, 10_000, 650, 2, seed)


def lstm_tiny(seed: int = 0) -> ModelProto:
    """A small model: `ids` int64[1, 5] to `logits` [1, 5, 50]."""
    return _lstm("lstm-tiny", 5, 50, 16, 2, seed)


def _lstm(name: str, words: int, vocabulary: int, cells: int, depth: int, seed: int) -> ModelProto:
    network = NetworkBuilder(np.random.default_rng(seed))
    table = network.weight("embedding", network.normal((vocabulary, cells), 1))
    x = network.node("Gather", [table, "ids"], "embedded")
    x = network.node("Transpose", [x], "time_first", perm=[1, 0, 2])
    axis = network.integers("direction_axis", 1)
    for layer in range(1, depth + 1):
        stem = f"lstm{layer}"
        # Sums of gates have a variance of 1 to 2: they reach the part of a sigmoid that bends.
        shape = (1, _GATES * cells, cells)
        weight = network.weight(f"{stem}.input", network.normal(shape, cells))
        recurrent = network.weight(f"{stem}.recurrent", network.normal(shape, cells))
        biases = np.concatenate([network.biases(_GATES * cells), np.zeros(_GATES * cells)])
        bias = network.weight(f"{stem}.bias", biases[None])
        inputs = [x, weight, recurrent, bias]
        x = network.node("LSTM", inputs, f"{stem}.directions", hidden_size=cells)
        x = network.node("Squeeze", [x, axis], stem)
    x = network.node("Transpose", [x], "batch_first", perm=[1, 0, 2])
    head = network.weight("head.weight", network.normal((cells, vocabulary), cells))
    bias = network.weight("head.bias", network.biases(vocabulary))
    x = network.node("MatMul", [x, head], "head")
    x = network.node("Add", [x, bias], "logits")
    ids = (TensorProto.INT64, (1, words))
    return network.model(name, {"ids": ids}, {x: (1, words, vocabulary)})

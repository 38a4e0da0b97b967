"""A recurrent network of a signal: a GRU as PyTorch exports it, and a dense layer after its end."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import NetworkBuilder

_STEPS, _FEATURES, _HIDDEN, _GATES = 100, 40, 64, 3


def recurrent() -> ModelProto:
    """`input` [100, 1, 40], time steps first, to `output` [1, 10]."""
    network = NetworkBuilder(np.random.default_rng(0))
    rows = _GATES * _HIDDEN
    weights = (
        network.weight("gru.input", network.normal((1, rows, _FEATURES), _FEATURES)),
        network.weight("gru.recurrent", network.normal((1, rows, _HIDDEN), _HIDDEN)),
        network.weight("gru.bias", network.biases(2 * rows)[None]),
    )
    network.node("GRU", ["input", *weights], "gru", hidden_size=_HIDDEN, linear_before_reset=1)
    last = network.node("Gather", ["gru", network.weight("last", np.array(-1))], "state", axis=0)
    last = network.node("Squeeze", [last, network.integers("directions", 0)], "vector")
    network.dense("output", last, _HIDDEN, 10)
    signal = {"input": (TensorProto.FLOAT, (_STEPS, 1, _FEATURES))}
    return network.model("recurrent", signal, {"output": (1, 10)})

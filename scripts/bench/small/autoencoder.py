"""An autoencoder of dense layers: that of MLPerf Tiny's anomaly detection."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import NetworkBuilder

_FEATURES = (640, *(128,) * 4, 8, *(128,) * 4, 640)


def autoencoder() -> ModelProto:
    """`input` [1, 640] to `output` [1, 640]."""
    network = NetworkBuilder(np.random.default_rng(0))
    x, last = "input", len(_FEATURES) - 2
    for number, (inputs, outputs) in enumerate(pairwise(_FEATURES)):
        name = "output" if number == last else f"dense{number}"
        x = network.dense(name, x, inputs, outputs)
        if number < last:
            x = network.node("Relu", [x], f"{name}.on")
    width = _FEATURES[0]
    return network.model("autoencoder", {"input": (TensorProto.FLOAT, (1, width))}, {x: (1, width)})

"""Recurrent networks as ONNX models, with random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper

from tests.support.compiler.frontends.onnx_models import model

GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""By operator: the gates of a cell."""


@dataclass(frozen=True, slots=True)
class RecurrentNetwork:
    """The sizes of a network from tokens int64[steps, batch] to logits of the next tokens.

    Attributes
    ----------
    operator
        One of `GATES`.
    directions
        2 if each layer reads its sequence in both directions.
    """

    operator: str = "LSTM"
    vocabulary: int = 20
    steps: int = 4
    batch: int = 1
    features: int = 8
    units: int = 8
    layers: int = 1
    directions: int = 1

    def model(self, seed: int = 0) -> ModelProto:
        """The model, with weights of variance 1 / inputs."""
        generator = np.random.default_rng(seed)

        def weight(*shape: int) -> NDArray[np.float32]:
            numbers = generator.standard_normal(shape, np.float32)
            return numbers / np.float32(np.sqrt(shape[-1]))

        rows, wide = GATES[self.operator] * self.units, self.directions * self.units
        weights: dict[str, Any] = {
            "table": generator.standard_normal((self.vocabulary, self.features), np.float32),
            "shape": np.array([0, 0, wide]),
            "head": weight(self.vocabulary, wide).T,
        }
        nodes: list[NodeProto] = [helper.make_node("Gather", ["table", "words"], ["x0"])]
        attributes: dict[str, Any] = {"hidden_size": self.units}
        if self.directions == 2:
            attributes["direction"] = "bidirectional"
        for layer in range(self.layers):
            width = wide if layer else self.features
            weights[f"w{layer}"] = weight(self.directions, rows, width)
            weights[f"r{layer}"] = weight(self.directions, rows, self.units)
            weights[f"b{layer}"] = 0.1 * weight(self.directions, 2 * rows)
            inputs = [f"{name}{layer}" for name in "xwrb"]
            # From [steps, directions, batch, units] to [steps, batch, directions x units].
            nodes += [
                helper.make_node(self.operator, inputs, [f"y{layer}"], **attributes),
                helper.make_node("Transpose", [f"y{layer}"], [f"t{layer}"], perm=[0, 2, 1, 3]),
                helper.make_node("Reshape", [f"t{layer}", "shape"], [f"x{layer + 1}"]),
            ]
        nodes.append(helper.make_node("MatMul", [f"x{self.layers}", "head"], ["logits"]))
        shape = [self.steps, self.batch]
        return model(nodes, {"words": shape}, ["logits"], weights, 20, TensorProto.INT64)

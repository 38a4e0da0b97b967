"""Recurrent language models, in the form in which PyTorch exports them, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

pytest.importorskip("onnxruntime", reason="what results are compared with")

from onnx import TensorProto

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.onnx_runs import agree

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def language_model(operator: str, units: int, steps: int, words: int = 100) -> ModelProto:
    """Embedding, two layers of a cell, and the logits of the next word, for a batch of 2."""
    generator = np.random.default_rng(units)

    def weight(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        bound = 1 / np.sqrt(units)
        return generator.uniform(-bound, bound, shape).astype(np.float32)

    rows = GATES[operator] * units
    weights = {"embedding": weight(words, units), "decoder": weight(units, words)}
    weights["bias"] = weight(words)
    nodes = [helper.make_node("Gather", ["embedding", "words"], ["x0"])]
    extra: dict[str, Any] = {"linear_before_reset": 1} if operator == "GRU" else {}
    for layer in range(2):
        weights[f"w{layer}"] = weight(1, rows, units)
        weights[f"r{layer}"] = weight(1, rows, units)
        weights[f"b{layer}"] = weight(1, 2 * rows)
        inputs = [f"x{layer}", f"w{layer}", f"r{layer}", f"b{layer}"]
        outputs = [f"y{layer}", f"h{layer}"]
        nodes.append(helper.make_node(operator, inputs, outputs, hidden_size=units, **extra))
        nodes.append(helper.make_node("Squeeze", [f"y{layer}", "one"], [f"x{layer + 1}"]))
    nodes.append(helper.make_node("MatMul", ["x2", "decoder"], ["product"]))
    nodes.append(helper.make_node("Add", ["product", "bias"], ["logits"]))
    constants = {**weights, "one": np.array([1])}
    outputs = ["logits", "h0", "h1"]
    return model(nodes, {"words": [steps, 2]}, outputs, constants, 17, TensorProto.INT64)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("units", "steps"), [(64, 35), (650, 10)])
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_language_models(operator: str, units: int, steps: int) -> None:
    words = np.random.default_rng(0).integers(0, 100, (steps, 2))
    agree(language_model(operator, units, steps), {"words": words}, 1e-4)

"""Small networks in int8, calibrated with random inputs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from tandem.scripts.bench.qdq import qdq_model

_SAMPLES: Final = 8
_WORDS: Final = 50
"""Integer inputs are token numbers, masks or kinds of tokens: below this, or 0 and 1."""


def quantised(model: ModelProto) -> ModelProto:
    """The model as ONNX Runtime quantises it."""
    random = np.random.default_rng(0)
    return qdq_model(model, [_inputs(model, random) for _ in range(_SAMPLES)])


def _inputs(model: ModelProto, random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Random values for the inputs of a model."""
    found: dict[str, NDArray[Any]] = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [axis.dim_value for axis in kind.shape.dim]
        if kind.elem_type == TensorProto.FLOAT:
            found[value.name] = random.standard_normal(shape).astype(np.float32)
        else:
            most = _WORDS if value.name == "ids" else 2
            found[value.name] = random.integers(0, most, shape)
    return found

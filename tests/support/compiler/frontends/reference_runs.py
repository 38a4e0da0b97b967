"""ONNX models as Tandem's evaluator and as ONNX's reference computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner

Array = NDArray[Any]


def agrees(given: ModelProto, *arrays: Array, tolerance: float = 1e-5) -> None:
    """Assert that all outputs of a model are the reference's; one array for each input."""
    imported = import_model(given)
    values = evaluate(imported.function, list(arrays), NativeRunner(reassociate=False))
    found = imported.by_name(values)
    wanted: Any = ReferenceEvaluator(given).run(
        None, dict(zip(imported.inputs, arrays, strict=True))
    )
    for output, theirs in zip(given.graph.output, wanted, strict=True):
        ours = found[output.name]
        assert isinstance(ours, np.ndarray)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance / 10)


def noise(*shape: int) -> Array:
    """Normal noise in float32."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)

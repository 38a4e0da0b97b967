"""The built-in networks with random weights, in float32 on the CPU, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.models import BUILT_IN, built_in
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.frontends.onnx_runs import agree

QUICK = ("dqn-tiny", "dcgan-tiny")
TOLERANCE = 2e-3
"""Deep networks add up rounding errors, and transposed weights are summed in another order."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.exhaustive])
        for name in BUILT_IN
        if name != "digits"
    ],
)
def test_against_onnx_runtime(name: str) -> None:
    model = built_in(name)
    for value in (*model.graph.input, *model.graph.output):
        batch = value.type.tensor_type.shape.dim[0]
        batch.Clear()
        batch.dim_value = 1
    imported = import_model(model)
    (sample,) = synthetic(imported.function, 1)
    feeds = {key: np.asarray(array) for key, array in zip(imported.inputs, sample, strict=True)}
    agree(model, feeds, TOLERANCE)

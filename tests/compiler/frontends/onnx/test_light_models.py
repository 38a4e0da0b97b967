"""The networks that the onnx package brings, each tensor compared with ONNX Runtime's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, ValueInfoProto

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Body, Let, Tuple, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_models import light_model

onnxruntime = pytest.importorskip("onnxruntime", reason="what results are compared with")

TOLERANCE = 1e-3
"""Relative to the largest element of a tensor."""
QUICK = ("squeezenet", "shufflenet")
SLOW = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("vgg19", "zfnet512"),
)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in SLOW)]
)
def test_every_tensor(name: str) -> None:
    model = light_model(name)
    imported = import_model(model)
    wanted = sorted(set(imported.names) - set(imported.inputs))
    assert len(wanted) > 20
    every = Tuple(tuple(Var(imported.names[each]) for each in wanted))
    body = imported.function.body
    function = replace(
        imported.function, body=Body((*body.lets, Let("every_value", every)), Var("every_value"))
    )
    image = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)
    found = evaluate(function, [image], NativeRunner())
    assert isinstance(found, tuple)
    (given,) = imported.inputs
    for tensor, ours, theirs in zip(
        wanted, found, reference(model, wanted, {given: image}), strict=True
    ):
        assert isinstance(ours, np.ndarray)
        assert ours.shape == theirs.shape
        # Nothing vanished on the way, so that the comparison says something.
        largest = np.abs(theirs).max()
        assert 1e-6 < largest < 1e6, tensor
        assert np.abs(ours - theirs).max() <= TOLERANCE * largest, tensor


def reference(
    model: ModelProto, names: list[str], feeds: dict[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    """The tensors of these names, by ONNX Runtime without optimisation."""
    del model.graph.output[:]
    model.graph.output.extend(ValueInfoProto(name=each) for each in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(names, feeds)

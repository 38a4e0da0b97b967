"""Operators on random shapes and attributes: equal to ONNX Runtime or ONNX's reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.random_nodes import NODES, Array, RandomNode

SEEDS = 40
QUICK = ("conv_transpose", "scatter_elements", "grid_sample", "loss", "non_zero", "compress")
"""The nodes of the quick test: the others are in those of the exhaustive one."""


def model_of(node: RandomNode) -> ModelProto:
    """A model of the node alone."""
    names = ["" if each is None else f"x{at}" for at, each in enumerate(node.operands)]
    outputs = [f"y{number}" for number in range(node.outputs)]
    attributes = {name: value for name, value in node.attributes.items() if value is not None}
    proto = helper.make_node(node.operator, names, outputs, **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in zip(names, node.operands, strict=True)
        if array is not None
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([proto], "graph", inputs, results)
    opsets = [helper.make_opsetid("", node.opset)]
    found = infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=10))
    for info in found.graph.output:
        if not info.type.tensor_type.HasField("shape"):
            # The checker wants a shape where none is inferred.
            info.CopyFrom(helper.make_tensor_value_info(info.name, 1, [None] * 4))
    return found


def expected(node: RandomNode, model: ModelProto, feeds: dict[str, Array]) -> Sequence[Any]:
    """The results by others."""
    if node.runtime:
        rival = pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
        options = rival.SessionOptions()
        options.log_severity_level = 3
        session = rival.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run(None, feeds)
    wanted = ReferenceEvaluator(model).run(None, feeds)
    assert isinstance(wanted, list)
    return wanted


def agrees(name: str, seed: int) -> None:
    """Our results are those of others."""
    node = NODES[name](np.random.default_rng(seed))
    model = model_of(node)
    feeds = {f"x{at}": each for at, each in enumerate(node.operands) if each is not None}
    imported = import_model(model, offered=feeds)
    arrays = [feeds[each] for each in imported.inputs]
    ours = evaluate(imported.function, arrays, NativeRunner(reassociate=False))
    results = imported.by_name(ours).values()
    shapes = [None if each is None else each.shape for each in node.operands]
    said = f"{node.operator} {shapes} {dict(node.attributes)}"
    for found, wanted in zip(results, expected(node, model, feeds), strict=True):
        assert isinstance(found, np.ndarray)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), said
        np.testing.assert_allclose(found, wanted, 2e-4, 2e-5, err_msg=said)


@pytest.mark.parametrize("name", QUICK)
def test_one(name: str) -> None:
    agrees(name, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NODES)
def test_many(name: str) -> None:
    for seed in range(SEEDS):
        agrees(name, seed)

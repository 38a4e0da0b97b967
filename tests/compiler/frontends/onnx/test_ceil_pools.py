"""Shapes of pools with `ceil_mode`: those of ONNX Runtime and the reference, in any opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.ceil_pools import with_corrected_pools
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner

onnxruntime = pytest.importorskip("onnxruntime", reason="what results are compared with")

RUN = NativeRunner()


def pool(
    operator: str, opset: int, image: list[int], declared: list[int], **attributes: Any
) -> ModelProto:
    image_type, result_type = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, *extents])
        for name, extents in (("x", image), ("y", declared))
    )
    node = helper.make_node(operator, ["x"], ["y"], ceil_mode=1, **attributes)
    graph = helper.make_graph([node], "pool", [image_type], [result_type])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("opset", [10, 11, 19, 21, 22])
@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool"])
def test_declared_shapes(operator: str, opset: int) -> None:
    """The right shape is found, also where the model declares one that no opset's inference gives;
    ONNX Runtime, which `check` compares with, warns of that one."""
    window = {"kernel_shape": [3, 3], "strides": [2, 3], "pads": [2, 1, 2, 1]}
    right = pool(operator, opset, [10, 9], [6, 4], **window)
    assert (with_corrected_pools(right) is None) == (opset == 22)
    for given in (right, pool(operator, opset, [10, 9], [5, 4], **window)):
        found = import_model(given).function.body.lets[-1]
        assert str(found.type) == "float32[1, 2, 6, 4]"


@pytest.mark.parametrize("opset", [10, 21, 22])
def test_what_follows_a_pool_has_its_right_shape(opset: int) -> None:
    """A sum that opset 21's inference would refuse: it counts a row more."""
    window = {"kernel_shape": [3, 3], "strides": [2, 3], "pads": [2, 1, 2, 1]}
    given = pool("MaxPool", opset, [10, 9], [6, 4], **window)
    given.graph.node[0].output[0] = "p"
    given.graph.node.append(helper.make_node("Add", ["p", "b"], ["y"]))
    given.graph.initializer.append(numpy_helper.from_array(np.ones((6, 4), np.float32), "b"))
    assert str(import_model(given).function.body.lets[-1].type) == "float32[1, 2, 6, 4]"


def test_models_without_such_pools_are_not_copied() -> None:
    model = pool("MaxPool", 12, [4, 4], [2, 2], kernel_shape=[2, 2], strides=[2, 2])
    assert with_corrected_pools(model) is not None
    next(each for each in model.graph.node[0].attribute if each.name == "ceil_mode").i = 0
    assert with_corrected_pools(model) is None


def check(seed: int) -> None:
    """Compare shape and values of a random pool with ONNX Runtime."""
    rng = np.random.default_rng(seed)
    operator = str(rng.choice(["AveragePool", "MaxPool"]))
    opset = int(rng.choice([10, 11, 12, 19, 21, 22]))
    kernel, strides, image = (rng.integers(*span, 2).tolist() for span in ((1, 5), (1, 5), (4, 12)))
    pads = [int(rng.integers(0, extent)) for extent in kernel + kernel]
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    data = rng.standard_normal((1, 2, *image)).astype(np.float32)
    undeclared = pool(operator, opset, image, [0, 0], **attributes)
    undeclared.graph.output[0].type.tensor_type.ClearField("shape")
    session = onnxruntime.InferenceSession(undeclared.SerializeToString())
    (wanted,) = session.run(None, {"x": data})
    print(f"check({seed}): {operator} of opset {opset}, {image}, {attributes}")
    imported = import_model(pool(operator, opset, image, list(wanted.shape[2:]), **attributes))
    np.testing.assert_allclose(evaluate(imported.function, [data], RUN), wanted, atol=1e-5)


def test_a_few_random_pools() -> None:
    for seed in range(8):
        check(seed)


@pytest.mark.exhaustive
def test_many_random_pools() -> None:
    for seed in range(1000, 1400):
        check(seed)

"""Which tensors of ONNX models are trained, how they begin, and models with other weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.compiler.frontends.onnx import StatedShape
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.trainable import (
    _inputs_of_product,
    _is_bias,
    _shown,
    stated_batch,
    trainable,
)

FLOAT = TensorProto.FLOAT


def ones(*shape: int) -> NDArray[np.float32]:
    return np.ones(shape, np.float32)


def model(
    nodes: Sequence[Any],
    weights: Mapping[str, NDArray[Any]],
    shape: Sequence[int | str] = ("N", 4),
    result: Sequence[int | str] = ("N", 3),
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", FLOAT, result)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense(outputs: int = 3) -> ModelProto:
    """A product with a bias, a scale for each output, and a single number."""
    return model(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"], transB=1),
            helper.make_node("Mul", ["a", "scales"], ["c"]),
            helper.make_node("Mul", ["c", "single"], ["d"]),
            helper.make_node("Clip", ["d", "low"], ["y"]),
        ],
        {
            "w": ones(outputs, 4),
            "b": ones(outputs),
            "scales": 2 * ones(outputs),
            "single": ones(),
            "low": np.zeros((), np.float32),
        },
        result=("N", outputs),
    )


def weights_of(found: Any) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in found.weights.items()}


def test_weights_are_parameters() -> None:
    found = trainable(dense(), 5)
    assert weights_of(found) == {"w": (3, 4), "b": (3,), "scales": (3,)}
    assert dict(found.inputs) == {"x": "x"}
    types = {param.name: str(param.type) for param in found.function.params}
    assert types["x"] == "float32[5, 4]"
    assert types["w"] == "float32[3, 4]"


def test_a_single_number_is_a_weight_of_a_product() -> None:
    assert weights_of(trainable(dense(1), 5)) == {"w": (1, 4), "b": (1,)}


def test_weights_that_are_frozen() -> None:
    assert weights_of(trainable(dense(), 5, freeze=["b"])) == {"w": (3, 4), "scales": (3,)}
    assert weights_of(trainable(dense(), 5, freeze=["s*", "b"])) == {"w": (3, 4)}
    with pytest.raises(TrainingError, match=r"^no weights are called q: there are w, b, scales$"):
        trainable(dense(), 5, freeze=["q"])
    # A setting is no weight.
    with pytest.raises(TrainingError, match=r"^no weights are called low: there are w, b, scales$"):
        trainable(dense(), 5, freeze=["low"])
    with pytest.raises(TrainingError, match=r"^the model net has no weights to train$"):
        trainable(dense(), 5, freeze=["*"])


def test_statistics_are_no_weights() -> None:
    names = ["scale", "shift", "mean", "variance"]
    nodes = [helper.make_node("BatchNormalization", ["x", *names], ["y"])]
    normal = model(nodes, {name: ones(4) for name in names}, ("N", 4, 2, 2), ("N", 4, 2, 2))
    assert weights_of(trainable(normal, 2)) == {"scale": (4,), "shift": (4,)}


def test_batches() -> None:
    stated = trainable(dense(), 5, [StatedShape("x", (7, 4))])
    types = {param.name: str(param.type) for param in stated.function.params}
    assert types["x"] == "float32[7, 4]"
    assert stated_batch(dense()) is None
    fixed = dense()
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 6
    assert stated_batch(fixed) == 6
    other = helper.make_tensor_value_info("z", FLOAT, [6, 2])
    fixed.graph.input.append(other)
    assert stated_batch(fixed) == 6
    fixed.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 7
    assert stated_batch(fixed) is None


def test_models_with_other_weights() -> None:
    given = dense()
    found = trainable(given, 5, freeze=["scales"])
    changed = found.with_weights({"b": 5 * ones(3)})
    arrays = {it.name: numpy_helper.to_array(it).tolist() for it in changed.graph.initializer}
    assert arrays["b"] == [5, 5, 5]
    assert arrays["scales"] == [2, 2, 2]
    assert arrays["w"] == ones(3, 4).tolist()
    before = {it.name: numpy_helper.to_array(it).tolist() for it in given.graph.initializer}
    assert before["b"] == [1, 1, 1]
    assert found.with_weights({"scales": ones(3)}) == given


def test_weights_to_begin_with() -> None:
    wide = model(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"]),
            helper.make_node("Mul", ["a", "scales"], ["y"]),
        ],
        {"w": ones(400, 100), "b": ones(100), "scales": 2 * ones(100)},
        ("N", 400),
        ("N", 100),
    )
    found = trainable(wide, 1)
    drawn = found.random_weights(0)
    assert drawn["b"].tolist() == [0] * 100
    assert drawn["scales"].tolist() == [2] * 100
    assert drawn["w"].dtype == np.float32
    # A variance of 2 by 400 inputs.
    assert drawn["w"].std() == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert abs(drawn["w"].mean()) < 0.002
    again = found.random_weights(0)
    assert np.array_equal(drawn["w"], again["w"])
    assert not np.array_equal(drawn["w"], found.random_weights(1)["w"])


@pytest.mark.parametrize(
    ("operator", "shape", "attributes", "wanted"),
    [
        ("Conv", (8, 3, 5, 7), {}, 105),
        ("ConvTranspose", (8, 3, 5, 7), {}, 280),
        ("Gemm", (8, 3), {}, 8),
        ("Gemm", (8, 3), {"transB": 0}, 8),
        ("Gemm", (8, 3), {"transB": 1}, 3),
        ("MatMul", (8, 3), {}, 8),
        ("MatMul", (2, 8, 3), {}, 8),
        ("MatMul", (8,), {}, None),
        ("Add", (8, 3), {}, None),
    ],
)
def test_inputs_of_products(
    operator: str, shape: tuple[int, ...], attributes: dict[str, Any], wanted: int | None
) -> None:
    node = helper.make_node(operator, ["x", "w", "b"], ["y"], **attributes)
    assert _inputs_of_product([node], "w", shape) == wanted
    assert _inputs_of_product([node], "x", shape) is None
    assert _inputs_of_product([helper.make_node("Relu", ["w"], ["z"]), node], "w", shape) == wanted
    assert _is_bias([node], "b") == (operator in ("Conv", "ConvTranspose", "Gemm"))
    assert not _is_bias([node], "w")


def test_names_that_are_shown() -> None:
    names = [f"w{at}" for at in range(10)]
    assert _shown(names[:8]) == "w0, w1, w2, w3, w4, w5, w6, w7"
    assert _shown(names[:9]) == "w0, w1, w2, w3, w4, w5, w6, w7 and 1 others"
    assert _shown(names).endswith(" and 2 others")

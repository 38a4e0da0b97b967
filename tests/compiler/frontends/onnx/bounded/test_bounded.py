"""What follows an extent that depends on inputs is as in ONNX's reference, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import UnknownValueError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.runtime.errors import RunError
from tests.compiler.frontends.onnx.bounded.bounded_models import SHAPE, bounded_model, make, sparse
from tests.support.compiler.frontends.onnx_models import Array


def _floats(numbers: Any) -> Array:
    return np.array(numbers, np.float32)


TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)
WEIGHT = np.array([[1, -2, 0.5], [3, 1, -1]], np.float32)
CASES: dict[str, tuple[Sequence[NodeProto], Mapping[str, Any]]] = {
    "add": ([make("Add", ["f", "w"], ["y"])], {"w": _floats([1, 2])}),
    "both": ([make("Mul", ["f", "f"], ["y"])], {}),
    "scalar": ([make("Max", ["v", "w"], ["y"])], {"w": _floats(0)}),
    "one": ([make("Add", ["v", "w"], ["y"])], {"w": _floats([[3], [4]])}),
    "where": (
        [make("Greater", ["v", "w"], ["g"]), make("Where", ["g", "v", "w"], ["y"])],
        {"w": _floats(0.5)},
    ),
    "clip": ([make("Clip", ["v", "w"], ["y"])], {"w": _floats(0)}),
    "identity": ([make("Identity", ["v"], ["y"])], {}),
    "unsqueeze": ([make("Unsqueeze", ["v", "w"], ["y"])], {"w": [0, -1]}),
    "squeeze": (
        [make("Unsqueeze", ["v", "w"], ["u"]), make("Squeeze", ["u", "w"], ["y"])],
        {"w": [0]},
    ),
    "gather by": ([make("Gather", ["w", "p"], ["y"])], {"w": TABLE}),
    "gather of": ([make("Gather", ["f", "w"], ["y"], axis=1)], {"w": [[1, 0, -1]]}),
    "gather elements": (
        [make("Gather", ["p", "w"], ["i"]), make("GatherElements", ["e", "i"], ["y"])],
        {"w": 0, "e": _floats([4, 5, 6, 7])},
    ),
    "concat": ([make("Concat", ["f", "f"], ["y"], axis=1)], {}),
    "split": ([make("Split", ["f"], ["y", "z"], axis=1, num_outputs=2)], {}),
    "flat": ([make("Reshape", ["f", "w"], ["y"])], {"w": [-1]}),
    "reshape": ([make("Reshape", ["f", "w"], ["y"])], {"w": [1, -1, 1]}),
    "kept": ([make("Reshape", ["f", "w"], ["y"])], {"w": [0, 1, 2]}),
    "flatten": ([make("Flatten", ["f"], ["y"])], {}),
    "shape": ([make("Shape", ["p"], ["y"])], {}),
    "shape, last": ([make("Shape", ["p"], ["y"], start=1)], {}),
    "shape, first": ([make("Shape", ["p"], ["y"], end=1)], {}),
    "size": ([make("Size", ["f"], ["y"])], {}),
    "slice": ([make("Slice", ["f", "a", "b", "c"], ["y"])], {"a": [2], "b": [5], "c": [0]}),
    "slice, other": ([make("Slice", ["f", "a", "b", "c"], ["y"])], {"a": [-1], "b": [9], "c": [1]}),
    "sum": ([make("ReduceSum", ["f", "w"], ["y"])], {"w": [0]}),
    "sum of squares": ([make("ReduceSumSquare", ["f"], ["y"])], {}),
    "product": ([make("ReduceProd", ["v"], ["y"], keepdims=0)], {}),
    "mean": ([make("ReduceMean", ["f", "w"], ["y"], keepdims=0)], {"w": [-1]}),
    "argmax": ([make("ArgMax", ["f"], ["y"], axis=1)], {}),
    "matmul": ([make("MatMul", ["f", "w"], ["y"])], {"w": WEIGHT}),
    "gemm": ([make("Gemm", ["f", "w", "b"], ["y"])], {"w": WEIGHT, "b": _floats([1, 2, 3])}),
    "columns": (
        [make("Transpose", ["f"], ["q"]), make("MatMul", ["w", "q"], ["y"])],
        {"w": WEIGHT.T},
    ),
    "softmax": ([make("Softmax", ["f"], ["y"], axis=-1)], {}),
    "norm": ([make("LayerNormalization", ["f", "w"], ["y"])], {"w": _floats([1, 2])}),
    "one hot": (
        [make("OneHot", ["t", "d", "w"], ["y"])],
        {"d": 4, "w": _floats([0, 1])},
    ),
    "scatter": (
        [make("Neg", ["v"], ["n"]), make("ScatterND", ["x", "t", "n"], ["y"])],
        {},
    ),
    "scatter, added": ([make("ScatterND", ["x", "t", "v"], ["y"], reduction="add")], {}),
    "compress": (
        [
            make("Reshape", ["x", "n"], ["l"]),
            make("Greater", ["l", "w"], ["g"]),
            make("Compress", ["l", "g"], ["y"]),
        ],
        {"w": _floats(0), "n": [-1]},
    ),
    "unique": ([make("Unique", ["x"], ["y", "a", "b", "c"], axis=1)], {}),
    "unique, unsorted": (
        [
            make("Reshape", ["x", "n"], ["l"]),
            make("Unique", ["l"], ["y", "a", "b", "c"], sorted=0),
        ],
        {"n": [-1]},
    ),
}


OLD: dict[str, tuple[Sequence[NodeProto], Mapping[str, Any]]] = {
    **{
        f"{operator.lower()}, {axis}": ([make(operator, ["f"], ["y"], axis=axis)], {})
        for operator in ("Softmax", "LogSoftmax", "Hardmax")
        for axis in (1, -1)
    },
    "unsqueeze": ([make("Unsqueeze", ["v"], ["y"], axes=[0, -1])], {}),
    "squeeze": (
        [make("Unsqueeze", ["f"], ["u"], axes=[2]), make("Squeeze", ["u"], ["y"], axes=[-1])],
        {},
    ),
    "sum": ([make("ReduceSum", ["f"], ["y"], axes=[-1], keepdims=0)], {}),
}
"""As in opset 12: axes are attributes, and softmax is along all axes from its own on."""


def compared(
    nodes: Sequence[NodeProto], weights: Mapping[str, Any], count: int, opset: int = 18
) -> None:
    """The last node's results are those of ONNX's reference, shapes too."""
    outputs = [*nodes[-1].output]
    model = bounded_model(nodes, weights, outputs, opset)
    x = sparse(count, count)
    wanted = ReferenceEvaluator(model).run(None, {"x": x})
    imported = import_model(model)
    found = imported.by_name(evaluate(imported.function, [x]))
    for name, expected in zip(outputs, wanted, strict=True):
        assert found[name].shape == np.shape(expected)
        assert found[name].dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found[name], expected, 1e-5)


@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    compared(*CASES[case], count=5)


@pytest.mark.parametrize("case", OLD)
def test_results_of_opset_12(case: str) -> None:
    compared(*OLD[case], count=5, opset=12)


@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_of_opset_12_along_a_bounded_axis(operator: str, axis: int) -> None:
    """Along both axes, of which the first is bounded."""
    model = bounded_model([make(operator, ["f"], ["y"], axis=axis)], {}, opset=12)
    with pytest.raises(UnknownValueError, match="axis 0 of operand input, up to 12"):
        import_model(model)


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [1, 2, 11, 12])
@pytest.mark.parametrize("case", CASES)
def test_other_counts(case: str, count: int) -> None:
    compared(*CASES[case], count=count)


@pytest.mark.parametrize("case", ["add", "flat", "sum", "scatter", "size", "gather by"])
def test_nothing(case: str) -> None:
    """No element is left."""
    compared(*CASES[case], count=0)


def test_the_greatest_of_them() -> None:
    """Of a bounded axis the greatest are found among those that count."""
    nodes = [make("TopK", ["v", "k"], ["y", "i"], largest=0)]
    compared(nodes, {"k": [3]}, 5)


def test_in_a_branch() -> None:
    """Bodies use bounded tensors around them."""
    branches = {
        f"{name}_branch": helper.make_graph(
            [make(operator, ["v"], [name], keepdims=0)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [])],
        )
        for name, operator in (("then", "ReduceMax"), ("else", "ReduceMin"))
    }
    nodes = [
        make("ReduceSum", ["v"], ["s"], keepdims=0),
        make("Greater", ["s", "w"], ["g"]),
        make("If", ["g"], ["y"], **branches),
    ]
    compared(nodes, {"w": _floats(0)}, 4)
    compared(nodes, {"w": _floats(9)}, 4)


REFUSED: dict[str, tuple[NodeProto, Mapping[str, Any], str]] = {
    "other extent": (make("Add", ["v", "w"], ["y"]), {"w": np.zeros(12, np.float32)}, "0 of .* A"),
    "another extent": (make("Add", ["v", "w"], ["y"]), {"w": np.zeros(5, np.float32)}, "0 of .* A"),
    "inner product": (make("Gemm", ["f", "f"], ["y"], transA=1), {}, "0 of operand A"),
    "softmax": (make("Softmax", ["f"], ["y"], axis=0), {}, "0 of operand input"),
    "mean": (make("ReduceMean", ["v"], ["y"]), {}, "0 of operand data"),
    "concat": (make("Concat", ["v", "v"], ["y"], axis=0), {}, "0 of operand inputs"),
    "cumsum": (make("CumSum", ["v", "w"], ["y"]), {"w": 0}, "0 of operand x"),
    "squeeze": (make("Squeeze", ["v"], ["y"]), {}, "0 of operand data"),
    "from the end": (
        make("Slice", ["f", "a", "b"], ["y"]),
        {"a": [-2], "b": [9]},
        "0 of operand data",
    ),
    "reshape": (make("Reshape", ["f", "w"], ["y"]), {"w": [4, 6]}, "0 of operand data"),
    "rows": (make("Reshape", ["f", "w"], ["y"]), {"w": [-1, 4]}, "0 of operand data"),
    "columns": (make("Reshape", ["p", "w"], ["y"]), {"w": [-1]}, "1 of operand data"),
    "indexed": (make("Gather", ["v", "w"], ["y"]), {"w": [-1]}, "0 of operand data"),
    "eye": (make("EyeLike", ["f"], ["y"]), {}, "0 of operand input"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    node, weights, where = REFUSED[case]
    message = rf"^node {node.op_type} of y: not supported: the extent of axis {where}, up to 12, "
    with pytest.raises(
        UnknownValueError, match=message + "has to be known .* on inputs: x; --input"
    ):
        import_model(bounded_model([node], weights))


@pytest.mark.parametrize("case", ["other extent", "from the end", "reshape", "mean"])
def test_what_is_refused_is_taken_with_the_value(case: str) -> None:
    """An input on which an extent depends that has to be known becomes a constant."""
    node, weights, _ = REFUSED[case]
    model = bounded_model([node], weights)
    x = sparse(1, 12)
    imported = import_model(model, offered={"x": x})
    assert imported.inputs == ()
    (wanted,) = (np.asarray(each) for each in ReferenceEvaluator(model).run(None, {"x": x}))
    np.testing.assert_allclose(imported.by_name(evaluate(imported.function, []))["y"], wanted, 1e-5)


def test_a_body_does_not_give_one() -> None:
    branch = helper.make_graph(
        [make("Neg", ["v"], ["r"])],
        "branch",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, [None])],
    )
    nodes = [
        make("ReduceSum", ["x"], ["s"], keepdims=0),
        make("Cast", ["s"], ["g"], to=TensorProto.BOOL),
        make("If", ["g"], ["y"], then_branch=branch, else_branch=branch),
    ]
    with pytest.raises(UnknownValueError, match="result r of graph branch: not supported: its ext"):
        import_model(bounded_model(nodes, {}))


def test_a_count_of_elements_that_are_too_many() -> None:
    """What `k` says is checked after the run."""
    graph = helper.make_graph(
        [make("TopK", ["x", "k"], ["y", "i"])],
        "graph",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE),
            helper.make_tensor_value_info("k", TensorProto.INT64, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    imported = import_model(model)
    x = sparse(0, 9)
    for k in (0, 2, 4):
        found = imported.by_name(evaluate(imported.function, [x, np.array([k])]))["y"]
        np.testing.assert_array_equal(found, -np.sort(-x, 1)[:, :k])
    with pytest.raises(RunError, match="output y has 5 elements along axis 1: 0 to 4 fit"):
        imported.by_name(evaluate(imported.function, [x, np.array([5])]))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_what_has_no_elements_has_no_positions(shape: tuple[int, int]) -> None:
    """Their number is known, however many inputs could differ."""
    graph = helper.make_graph(
        [make("NonZero", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2, None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    imported = import_model(model)
    found = imported.by_name(evaluate(imported.function, [np.zeros(shape, np.float32)]))["y"]
    assert found.shape == (2, 0)
    assert found.dtype == np.int64

"""What is checked of a model, and what is not looked at: branches that are never taken, and shapes
that it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import FrontendError, UnknownValueError, UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate

Array = NDArray[Any]
make = helper.make_node
X = np.arange(-4, 8, dtype=np.float32).reshape(1, 3, 4)
RATE = 16_000


def branch(nodes: list[NodeProto], result: str, **weights: Array) -> GraphProto:
    info = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return helper.make_graph(nodes, "branch", [], [info], constants)


def illegal(kind: str) -> GraphProto:
    """A branch that nothing could be made of."""
    match kind:
        case "a reshape that does not fit":
            nodes = [make("Reshape", ["x", "target"], ["z"])]
            return branch(nodes, "z", target=np.array([7, 5]))
        case "another rank":
            nodes = [make("Squeeze", ["x", "axes"], ["s"]), make("Relu", ["s"], ["z"])]
            return branch(nodes, "z", axes=np.array([0]))
        case "an axis that is not 1":
            return branch([make("Squeeze", ["x", "axes"], ["z"])], "z", axes=np.array([1]))
        case "an unknown operator":
            return branch([make("Magic", ["x"], ["z"], domain="com.example")], "z")
        case "no operator of this opset":
            return branch([make("Swish", ["x"], ["z"])], "z")
        case "an operator for other types":
            return branch([make("Not", ["x"], ["z"])], "z")
        case "a value that is nowhere":
            return branch([make("Relu", ["nowhere"], ["z"])], "z")
        case _:
            pair = make("SequenceConstruct", ["x", "x"], ["s"])
            return branch([pair, make("SequenceAt", ["s", "first"], ["z"])], "z", first=np.array(0))


KINDS = (
    "a reshape that does not fit",
    "another rank",
    "an axis that is not 1",
    "an unknown operator",
    "no operator of this opset",
    "an operator for other types",
    "a value that is nowhere",
    "a sequence",
)


def rated(other: GraphProto, taken: GraphProto | None = None) -> ModelProto:
    """A model with one branch for a sampling rate, and another one for all others."""
    then = taken or branch([make("Neg", ["x"], ["t"]), make("Relu", ["t"], ["r"])], "r")
    nodes = [
        make("Equal", ["rate", "known"], ["same"]),
        make("If", ["same"], ["c"], "choose", then_branch=then, else_branch=other),
        make("Add", ["c", "x"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape),
            helper.make_tensor_value_info("rate", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(RATE), "known")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_that_is_never_taken_is_not_looked_at(kind: str) -> None:
    """The value is NumPy's of the other branch."""
    rate = {"rate": np.array(RATE)}
    for imported in (
        import_model(rated(illegal(kind)), offered={**rate, "x": X}),
        import_model(rated(illegal(kind)), values=rate),
    ):
        assert imported.inputs == ("x",)
        found = evaluate(imported.function, [X])
        np.testing.assert_array_equal(found, np.maximum(-X, 0) + X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_that_may_be_taken_is_looked_at(kind: str) -> None:
    """The message names the input and the option that give the condition a value."""
    message = r"the condition of node choose \(If\) .*depends on inputs: rate; --input gives a val"
    with pytest.raises(UnknownValueError, match=message):
        import_model(rated(illegal(kind)))
    if kind != "another rank":
        with pytest.raises(FrontendError):
            import_model(rated(illegal(kind)), values={"rate": np.array(RATE // 2)})


def test_what_a_switch_is() -> None:
    """A single integer that is offered decides also where both branches could be compiled; a tensor
    of real numbers does not become a constant."""
    other = branch([make("Abs", ["x"], ["z"])], "z")
    offered = {"rate": np.array(8000), "x": X}
    imported = import_model(rated(other), offered=offered)
    assert (imported.inputs, [*imported.bound]) == (("x",), ["rate"])
    np.testing.assert_array_equal(evaluate(imported.function, [X]), abs(X) + X)
    undecided = import_model(rated(other))
    assert undecided.inputs == ("x", "rate")
    for rate in (8000, RATE):
        feeds: dict[str, Any] = {"x": X, "rate": np.array(rate)}
        (wanted,) = ReferenceEvaluator(rated(other)).run(None, feeds)
        found = evaluate(undecided.function, [*feeds.values()])
        np.testing.assert_array_equal(found, wanted)


def test_branches_in_a_branch() -> None:
    """Known conditions in a branch that is taken, on a shape and on a value around both."""
    inner = make(
        "If", ["narrow"], ["w"], then_branch=illegal("another rank"), else_branch=branch([], "x")
    )
    again = branch([make("Neg", ["w"], ["v"])], "v")
    outer = branch(
        [
            make("Shape", ["x"], ["s"]),
            make("Gather", ["s", "one"], ["width"]),
            make("Equal", ["width", "one"], ["narrow"]),
            inner,
            make("If", ["same"], ["u"], then_branch=again, else_branch=illegal("a sequence")),
        ],
        "u",
        one=np.array(1),
    )
    imported = import_model(rated(illegal(KINDS[0]), outer), values={"rate": np.array(RATE)})
    np.testing.assert_array_equal(evaluate(imported.function, [X]), X - X)


def test_names_in_a_branch_are_its_own() -> None:
    """A value in the branch that is taken has the name of a later one, of another type."""
    within = branch([make("Neg", ["x"], ["t"]), make("Relu", ["t"], ["r"])], "r")
    within.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, X.shape))
    given = rated(illegal(KINDS[0]), within)
    given.graph.node.append(make("Cast", ["y"], ["t"], to=TensorProto.INT32))
    given.graph.output[0].CopyFrom(helper.make_tensor_value_info("t", TensorProto.INT32, None))
    imported = import_model(given, values={"rate": np.array(RATE)})
    found = evaluate(imported.function, [X])
    np.testing.assert_array_equal(found, (np.maximum(-X, 0) + X).astype(np.int32))


def test_more_results_than_a_branch_has() -> None:
    given = rated(illegal(KINDS[0]))
    given.graph.node[1].output.append("more")
    with pytest.raises(FrontendError, match=r"node choose \(If\): its branch has 1 results"):
        import_model(given, values={"rate": np.array(RATE)})


# Declared shapes ----------------------------------------------------------------------------------


def chain(declared: list[Any] | None, within: list[Any] | None) -> ModelProto:
    nodes = [make("Neg", ["x"], ["n"]), make("Relu", ["n"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, declared)],
        value_info=[helper.make_tensor_value_info("n", TensorProto.FLOAT, within)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("declared", [None, [-1, 3, 4], ["a", "b", "a"], [1, 3, 5], [12], []])
@pytest.mark.parametrize("within", [None, ["x", "x", "x"], [1, 3, 5], [12]])
def test_shapes_are_inferred(declared: list[Any] | None, within: list[Any] | None) -> None:
    """Whatever a model declares of its results: ONNX's reference does not read it either."""
    given = chain(declared, within)
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": X})
    found = evaluate(import_model(given).function, [X])
    np.testing.assert_array_equal(found, wanted)


def test_a_result_without_a_type() -> None:
    given = chain(None, None)
    given.graph.output[0].ClearField("type")
    assert str(import_model(given).function.body.lets[-1].type) == "float32[1, 3, 4]"


def test_other_lies_are_refused() -> None:
    """Element types, of results and within; values of one name; results that nothing makes."""
    other = chain(None, None)
    other.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    outside = rated(branch([], "x"), branch([], "x"))
    outside.graph.output[0].name = "c"
    outside.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    within = chain(None, None)
    within.graph.value_info[0].type.tensor_type.elem_type = TensorProto.INT64
    twice = chain(None, None)
    twice.graph.node.append(make("Abs", ["x"], ["n"]))
    nowhere = chain(None, None)
    nowhere.graph.output[0].name = "elsewhere"
    apart = rated(illegal("a reshape that does not fit"))
    apart.graph.node[2].output[0] = "same"
    for given, message in (
        (other, "elem type differs"),
        (outside, r"output c is float32\[1, 3, 4\], and declared as int64"),
        (within, "elem type differs"),
        (twice, "two values are called n"),
        (nowhere, "no node makes elsewhere"),
        (apart, "two values are called same"),
    ):
        with pytest.raises(FrontendError, match=f"^the model is not legal: .*{message}"):
            import_model(given, offered={"rate": np.array(RATE)})


def test_unsupported_operators_outside_branches_are_listed_at_once() -> None:
    given = rated(illegal("a sequence"))
    given.graph.node.append(make("Magic", ["y"], ["m"], "last", domain="com.example"))
    given.graph.node.insert(0, make("SequenceConstruct", ["x"], ["q"], "first"))
    message = r"SequenceConstruct of opset 17 \(node first\); com.example.Magic of opset 1 \(node"
    with pytest.raises(UnsupportedError, match=message):
        import_model(given)


def test_what_would_end_the_process_is_refused() -> None:
    """ONNX's inference of shapes reads memory before the shape for negative batch_dims."""
    node = make("GatherND", ["x", "at"], ["y"], name="taken", batch_dims=-7)
    at = numpy_helper.from_array(np.zeros((2, 2), np.int64), "at")
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 2, 2))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [info], [result], [at])
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    with pytest.raises(FrontendError, match=r"node taken \(GatherND\): batch_dims -7: 0 or more"):
        import_model(given)

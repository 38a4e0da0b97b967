"""The types of a model's inputs, and which of them a value depends on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.bindings import StatedShape
from tandem.compiler.frontends.onnx.inputs import (
    input_names,
    input_types,
    inputs_behind,
    is_switch,
)

INFO = helper.make_tensor_value_info
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def test_initialised_inputs_are_none() -> None:
    weight = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    infos = [INFO(name, FLOAT, [2]) for name in ("x", "w", "y")]
    graph = helper.make_graph([], "g", infos, [], [weight])
    assert input_names(helper.make_model(graph)) == ("x", "y")


def types(*infos: object, batch: bool = False, **stated: tuple[int, ...]) -> dict[str, str]:
    shapes = [StatedShape(name, extents, "--shape") for name, extents in stated.items()]
    found = input_types(infos, shapes, open_batch_is_one=batch)  # type: ignore[arg-type]
    return {name: str(type_) for name, type_ in found.items()}


X, Y = INFO("x", FLOAT, ["N", 3]), INFO("y", INT64, ["N", "M"])


def test_open_extents() -> None:
    assert types(X, Y) == {"x": "float32[N, 3]", "y": "int64[N, M]"}
    assert types(X, Y, x=(4, 3)) == {"x": "float32[4, 3]", "y": "int64[4, M]"}
    assert types(X, Y, M=(5,)) == {"x": "float32[N, 3]", "y": "int64[N, 5]"}
    assert types(X, Y, batch=True) == {"x": "float32[1, 3]", "y": "int64[1, M]"}


def test_shapes_for_what_there_is_not() -> None:
    message = "shapes for z: the inputs are x, y, and open extents M, N"
    with pytest.raises(FrontendError, match=f"^{re.escape(message)}$"):
        types(X, Y, z=(1,))
    with pytest.raises(FrontendError, match=r"^shapes for z: the inputs are x$"):
        types(INFO("x", FLOAT, [2]), z=(1,))
    with pytest.raises(FrontendError, match=r"^shapes for z: the inputs are none$"):
        types(z=(1,))


def test_names_that_are_none() -> None:
    message = "^the model is not legal: inputs without a name, or of the same name$"
    for infos in ((X, X), (INFO("", FLOAT, [2]),)):
        with pytest.raises(FrontendError, match=message):
            types(*infos)


def test_inputs_that_are_no_tensors() -> None:
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, [2])
    with pytest.raises(UnsupportedError, match=r"^input s is no tensor$"):
        types(sequence)
    with pytest.raises(UnsupportedError, match=r"^input t is of the type string: the types"):
        types(INFO("t", TensorProto.STRING, [2]))


def test_switches() -> None:
    for array in (np.array(True), np.array([1]), np.array([[2]], np.uint8)):
        assert is_switch(array)
    for other in (None, np.array(1.0), np.array([1, 2]), np.zeros(0, np.int64)):
        assert not is_switch(other)


def node(name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(name, inputs, outputs, **attributes)


def behind(*nodes: NodeProto, name: str = "y") -> tuple[str, ...]:
    return inputs_behind(nodes, ("a", "b", "c"), name)


def test_what_a_value_depends_on() -> None:
    assert behind(node("Add", ["c", "a"], ["y"])) == ("a", "c")
    assert behind(node("Add", ["a", "t"], ["y"]), node("Exp", ["b"], ["t"])) == ("a", "b")
    assert behind(node("Exp", ["b"], ["other"])) == ()
    assert behind(name="a") == ("a",)


@pytest.mark.parametrize("operator", ["Shape", "Size"])
def test_shapes_depend_on_no_values(operator: str) -> None:
    shape = node(operator, ["t"], ["y"])
    assert behind(shape, node("Exp", ["a"], ["t"])) == ()
    # Unless the shape does.
    for counting in ("Compress", "Loop", "NonMaxSuppression", "NonZero", "TopK", "Unique"):
        assert behind(shape, node(counting, ["a"], ["t"])) == ("a",)
    assert behind(shape, node("Exp", ["u"], ["t"]), node("NonZero", ["a"], ["u"])) == ("a",)


def test_values_of_branches_and_loops() -> None:
    inner = helper.make_graph([node("Exp", ["b"], ["r"])], "b", [], [INFO("r", FLOAT, [2])])
    assert behind(node("If", ["a"], ["y"], then_branch=inner)) == ("a", "b")
    body = helper.make_graph(
        [node("Exp", ["inside"], ["r"])],
        *("b", [INFO("inside", FLOAT, [2])], [INFO("r", FLOAT, [2])]),
    )
    loop = node("Loop", ["c"], ["y"], body=body)
    assert behind(loop, name="r") == ("c",)

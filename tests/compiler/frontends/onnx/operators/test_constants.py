"""Constants that are made at import: as ONNX's reference makes them, and refused if too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tests.support.compiler.frontends.onnx_models import Array, model

make = helper.make_node


def result(made: ModelProto, x: Array) -> Any:
    imported = import_model(made)
    arguments = [x] if imported.function.params else []
    return imported.by_name(evaluate(imported.function, arguments))["y"]


@pytest.mark.parametrize(
    "node",
    [
        make("EyeLike", ["x"], ["y"]),
        make("EyeLike", ["x"], ["y"], k=1),
        make("EyeLike", ["x"], ["y"], k=-2, dtype=TensorProto.INT64),
    ],
)
def test_ones_on_a_diagonal(node: NodeProto) -> None:
    made, x = model([node], {"x": (3, 5)}, ["y"]), np.zeros((3, 5), np.float32)
    wanted: Any = ReferenceEvaluator(made).run(None, {"x": x})
    found = result(made, x)
    assert found.dtype == wanted[0].dtype
    np.testing.assert_array_equal(found, wanted[0])


@pytest.mark.parametrize("numbers", [(2, 9, 3), (9, 2, -2), (1, 1, 1), (0.5, 2.25, 0.25)])
def test_numbers_in_a_row(numbers: tuple[float, float, float]) -> None:
    kind = np.float32 if isinstance(numbers[0], float) else np.int64
    weights = {name: np.array(each, kind) for name, each in zip("abc", numbers, strict=True)}
    node = make("Range", ["a", "b", "c"], ["y"])
    made = model([node], {"x": (1,)}, ["y"], weights)
    found = result(made, np.zeros(1, np.float32))
    np.testing.assert_array_equal(found, np.arange(*numbers, dtype=kind))
    assert found.dtype == kind


def test_what_is_too_large() -> None:
    """From 2^24 elements on, as no array of them is in an artifact."""
    node = make("EyeLike", ["x"], ["y"])
    import_model(model([node], {"x": (1 << 20, 16)}, ["y"]))
    with pytest.raises(UnsupportedError, match=r"a matrix as large as float32\[1048576, 17\]"):
        import_model(model([node], {"x": (1 << 20, 17)}, ["y"]))
    weights = {"a": np.array(0), "b": np.array((1 << 24) + 1), "c": np.array(1)}
    long = model([make("Range", ["a", "b", "c"], ["y"])], {"x": (1,)}, ["y"], weights)
    with pytest.raises(UnsupportedError, match="more than 16777216 elements"):
        import_model(long)


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("kind", ["an extent", "two numbers"])
def test_a_row_of_what_is_no_number(at: int, kind: str) -> None:
    """Whichever of the operands it is."""
    weights = {name: np.array(each) for name, each in zip("abc", (2, 9, 3), strict=True)}
    name = "abc"[at]
    if kind == "an extent":
        weights["zero"] = np.array(0)
        first = [make("Shape", ["x"], ["s"]), make("Gather", ["s", "zero"], ["n"])]
    else:
        # ONNX's inference of shapes, which refuses it too, does not see through a negation.
        first, weights[name] = [make("Neg", [name], ["n"])], np.array([1, 2])
    row = make("Range", [each if each != name else "n" for each in "abc"], ["y"])
    nodes = [*first, row, make("Cast", ["y"], ["z"], to=TensorProto.FLOAT)]
    made = model(nodes, {"x": ("n", 2)}, ["z"], weights)
    with pytest.raises(UnsupportedError, match="have to be numbers that are known at import"):
        import_model(made)


def test_a_row_that_does_not_move() -> None:
    weights = {name: np.array(each) for name, each in zip("abc", (2, 9, 0), strict=True)}
    made = model([make("Range", ["a", "b", "c"], ["y"])], {"x": (1,)}, ["y"], weights)
    with pytest.raises(FrontendError, match="delta is 0"):
        import_model(made)


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        ([2, -1], [1.0], r"the shape is \[2, -1\]"),
        ([-1, -1], [1.0], r"the shape is \[-1, -1\]"),
        ([2], [1.0, 2.0], "value has 2 elements"),
        ([2], [], "value has 0 elements"),
    ],
)
def test_constants_of_no_shape(shape: list[int], value: list[float], message: str) -> None:
    tensor = helper.make_tensor("value", TensorProto.FLOAT, [len(value)], value)
    nodes = [make("Neg", ["s"], ["n"]), make("ConstantOfShape", ["n"], ["y"], value=tensor)]
    made = model(nodes, {"x": (1,)}, ["y"], {"s": -np.array(shape)})
    with pytest.raises(FrontendError, match=message):
        import_model(made)

"""Constants that are made at import: as ONNX's reference makes them, and refused if too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import UnsupportedError
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

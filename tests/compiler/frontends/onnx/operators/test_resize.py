"""Nearest resizing by whole factors is one operator, in every form that exporters write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.quantise.networks import called

SHAPE = (1, 2, 3, 4)
RUN = NativeRunner()
NEAREST = {
    "asymmetric": ("floor",),
    "half_pixel": ("round_prefer_floor", "round_prefer_ceil"),
    "half_pixel_symmetric": ("round_prefer_floor",),
    "pytorch_half_pixel": ("round_prefer_floor",),
}
"""The roundings with which each place of a pixel repeats rows and columns."""


def resizing(
    last: tuple[float, ...], *, sizes: bool = False, shape: Any = SHAPE, **attributes: Any
) -> ModelProto:
    """A model that resizes an image, by factors of rows and columns or to sizes."""
    attributes = {"mode": "nearest", "nearest_mode": "floor", **attributes}
    attributes.setdefault("coordinate_transformation_mode", "asymmetric")
    if sizes:
        weights = {"t": np.array([*SHAPE[:2], *last], np.int64)}
        inputs = ["x", "", "", "t"]
    else:
        weights = {"t": np.array([1, 1, *last], np.float32)}
        inputs = ["x", "", "t"]
    node = helper.make_node("Resize", inputs, ["y"], **attributes)
    return model([node], {"x": shape}, ["y"], weights)


def operators(made: ModelProto) -> list[str]:
    return called(import_model(made).function)


def repeated(image: NDArray[Any], factors: tuple[int, int]) -> NDArray[Any]:
    return image.repeat(factors[0], 2).repeat(factors[1], 3)


@pytest.mark.parametrize(("place", "rounding"), [(p, r) for p in NEAREST for r in NEAREST[p]])
@settings(max_examples=8)
@given(factors=st.tuples(st.integers(1, 4), st.integers(1, 4)), sizes=st.booleans())
def test_whole_factors(place: str, rounding: str, factors: tuple[int, int], sizes: bool) -> None:
    to = (SHAPE[2] * factors[0], SHAPE[3] * factors[1]) if sizes else factors
    made = resizing(to, sizes=sizes, coordinate_transformation_mode=place, nearest_mode=rounding)
    function = import_model(made).function
    assert called(function) == ["upsample"] * (factors != (1, 1))
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    np.testing.assert_array_equal(evaluate(function, [x], RUN), repeated(x, factors))
    (reference,) = ReferenceEvaluator(made).run(None, {"x": x})
    np.testing.assert_array_equal(reference, repeated(x, factors))


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (resizing((1.5, 2.0)), ["gather", "gather"]),
        (resizing((2.0, 1.75)), ["gather", "gather"]),
        (resizing((0.5, 0.5), shape=(1, 2, 4, 4)), ["gather", "gather"]),
        # Other pixels than those that repetition takes.
        (resizing((2.0, 2.0), nearest_mode="ceil"), ["gather", "gather"]),
        (
            resizing((2.0, 2.0), coordinate_transformation_mode="half_pixel"),
            ["gather", "gather"],
        ),
        (
            resizing((2.0, 2.0), coordinate_transformation_mode="align_corners"),
            ["gather", "gather"],
        ),
        (resizing((1.0, 2.0), mode="linear"), ["gather", "multiply", "gather", "multiply", "add"]),
    ],
)
def test_what_is_no_repetition(made: ModelProto, found: list[str]) -> None:
    assert operators(made) == found


@pytest.mark.parametrize("region", [(0.25, 0.5, 0.75, 1.0), (0.3, 0.0, 0.3, 0.6)])
def test_a_part_of_the_image(region: tuple[float, ...]) -> None:
    """Also a single row, whose steps have no length."""
    node = helper.make_node(
        "Resize",
        ["x", "r", "", "t"],
        ["y"],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
    )
    begin, end = (0.0, 0.0, *region[:2]), (1.0, 1.0, *region[2:])
    weights: dict[str, NDArray[Any]] = {
        "r": np.array([*begin, *end], np.float32),
        "t": np.array([*SHAPE[:2], 4, 3], np.int64),
    }
    made = model([node], {"x": SHAPE}, ["y"], weights)
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    wanted: Any = ReferenceEvaluator(made).run(None, {"x": x})
    found: Any = evaluate(import_model(made).function, [x], RUN)
    np.testing.assert_allclose(found, wanted[0], 1e-5, 1e-6)


def test_images_of_any_number() -> None:
    assert operators(resizing((2.0, 2.0), shape=("N", 2, 3, 4))) == ["upsample"]


def test_upsample_of_old_models() -> None:
    """Up to opset 8 scales are an attribute."""
    node = helper.make_node("Upsample", ["x"], ["y"], mode="nearest", scales=[1.0, 1.0, 3.0, 2.0])
    assert operators(model([node], {"x": SHAPE}, ["y"], opset=8)) == ["upsample"]


def test_rows_of_other_tensors_are_gathered() -> None:
    node = helper.make_node(
        "Resize",
        ["x", "", "t"],
        ["y"],
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    scales = {"t": np.array([1, 1, 2], np.float32)}
    assert operators(model([node], {"x": (1, 2, 3)}, ["y"], scales)) == ["gather"]

"""Operators with operands that are known at import, as ONNX's reference computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator

from compiler.frontends.onnx import import_model
from compiler.graph.evaluate import evaluate
from compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_models import Array, model

make = helper.make_node


def agree(made: ModelProto, **feeds: Array) -> None:
    """Tandem's result is the reference's."""
    wanted: Any = ReferenceEvaluator(made).run(None, feeds)
    imported = import_model(made)
    values = evaluate(imported.function, [feeds[name] for name in imported.inputs], NativeRunner())
    found = imported.by_name(values)["y"]
    assert found.shape == wanted[0].shape
    assert found.dtype == wanted[0].dtype
    np.testing.assert_allclose(found, wanted[0], 1e-5, 1e-6)


def normal(*extents: int) -> Array:
    return np.random.default_rng(0).standard_normal(extents).astype(np.float32)


@pytest.mark.parametrize(
    ("equation", "a", "b"),
    [
        ("...ij,...jk->...ik", (2, 1, 3, 4), (1, 5, 4, 2)),
        ("...ij,jk->...ik", (2, 3, 3, 4), (4, 2)),
        ("i...,i...->...", (3, 2, 4), (3, 2, 4)),
        ("ab...,b->a...b", (2, 3, 4), (3,)),
    ],
)
def test_einsum_with_an_ellipsis(equation: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    made = model([make("Einsum", ["a", "b"], ["y"], equation=equation)], {"a": a, "b": b}, ["y"])
    agree(made, a=normal(*a), b=normal(*b))


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("image", [(3, 4), (2, 3, 4)])
def test_affine_grid(image: tuple[int, ...], aligned: int) -> None:
    theta, size = (2, len(image), len(image) + 1), np.array([2, 5, *image])
    node = make("AffineGrid", ["t", "s"], ["y"], align_corners=aligned)
    agree(model([node], {"t": theta}, ["y"], {"s": size}, opset=20), t=normal(*theta))


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_cumulative_sum(extent: int, reverse: int, exclusive: int) -> None:
    node = make("CumSum", ["x", "a"], ["y"], reverse=reverse, exclusive=exclusive)
    agree(model([node], {"x": (2, extent)}, ["y"], {"a": np.array(1)}), x=normal(2, extent))

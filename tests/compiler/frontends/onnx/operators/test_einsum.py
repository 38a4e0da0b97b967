"""Sums of products by their equations."""

from __future__ import annotations

import pytest
from onnx import helper

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.reference_runs import agrees, noise


@pytest.mark.parametrize(
    ("equation", "a", "b"),
    [
        ("...ij,...jk->...ik", (2, 1, 3, 4), (1, 5, 4, 2)),
        ("...ij,jk->...ik", (2, 3, 3, 4), (4, 2)),
        ("i...,i...->...", (3, 2, 4), (3, 2, 4)),
        ("ab...,b->a...b", (2, 3, 4), (3,)),
    ],
)
def test_an_ellipsis(equation: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    node = helper.make_node("Einsum", ["a", "b"], ["y"], equation=equation)
    agrees(model([node], {"a": a, "b": b}, ["y"]), noise(*a), noise(*b))

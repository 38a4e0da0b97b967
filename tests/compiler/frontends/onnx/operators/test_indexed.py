"""Operators along an axis by their indices."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.reference_runs import agrees, noise


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_cumulative_sum(extent: int, reverse: int, exclusive: int) -> None:
    node = helper.make_node("CumSum", ["x", "a"], ["y"], reverse=reverse, exclusive=exclusive)
    agrees(model([node], {"x": (2, extent)}, ["y"], {"a": np.array(1)}), noise(2, extent))

"""Grids of places, and images sampled there."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.reference_runs import agrees, noise


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("image", [(3, 4), (2, 3, 4)])
def test_affine_grid(image: tuple[int, ...], aligned: int) -> None:
    theta, size = (2, len(image), len(image) + 1), np.array([2, 5, *image])
    node = helper.make_node("AffineGrid", ["t", "s"], ["y"], align_corners=aligned)
    agrees(model([node], {"t": theta}, ["y"], {"s": size}, opset=20), noise(*theta))

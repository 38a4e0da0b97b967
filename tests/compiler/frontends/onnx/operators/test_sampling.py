"""Grids of places, and images sampled there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.reference_runs import agrees, noise


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("image", [(3, 4), (2, 3, 4)])
def test_affine_grid(image: tuple[int, ...], aligned: int) -> None:
    theta, size = (2, len(image), len(image) + 1), np.array([2, 5, *image])
    node = helper.make_node("AffineGrid", ["t", "s"], ["y"], align_corners=aligned)
    agrees(model([node], {"t": theta}, ["y"], {"s": size}, opset=20), noise(*theta))


def test_offsets_of_a_deformed_convolution_have_four_axes() -> None:
    node = helper.make_node("DeformConv", ["x", "w", "o"], ["y"])
    made = model([node], {"x": (1, 1, 3, 3), "w": (1, 1, 2, 2), "o": (1, 8, 4)}, ["y"], opset=19)
    with pytest.raises(FrontendError, match=r"offsets float32\[1, 8, 4\]"):
        import_model(made)


@pytest.mark.parametrize(
    "sizes", [{"output_height": 2**40}, {"output_width": -1}, {"sampling_ratio": 2**40}]
)
def test_regions_have_cells_that_can_be_computed(sizes: dict[str, int]) -> None:
    given: dict[str, Any] = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, **sizes}
    node = helper.make_node("RoiAlign", ["x", "r", "n"], ["y"], **given)
    numbers = {"n": np.array([0])}
    made = model([node], {"x": (1, 1, 4, 4), "r": (1, 4)}, ["y"], numbers, opset=16)
    with pytest.raises(FrontendError, match="one cell or more, and 16777216 samples at most"):
        import_model(made)

"""Operators along an axis by their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.reference_runs import agrees, noise


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_cumulative_sum(extent: int, reverse: int, exclusive: int) -> None:
    node = helper.make_node("CumSum", ["x", "a"], ["y"], reverse=reverse, exclusive=exclusive)
    agrees(model([node], {"x": (2, extent)}, ["y"], {"a": np.array(1)}), noise(2, extent))


@pytest.mark.parametrize(
    "given", [{"kernel_shape": [2**33, 2]}, {"kernel_shape": [2, 2], "pads": [0, 2, 0, 2]}]
)
def test_images_of_max_unpool_have_elements_that_memory_holds(given: dict[str, Any]) -> None:
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], **given)
    made = model([node], {"x": (1, 1, 2, 2)}, ["y"], {"i": np.zeros((1, 1, 2, 2), np.int64)})
    with pytest.raises(FrontendError, match=r"1 images of .* 268435456 elements at most"):
        import_model(made)

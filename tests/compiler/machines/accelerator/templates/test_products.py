"""Dense layers by the names of convolutions, and back."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.machines.accelerator.templates import conv2d_pipelined as pipelined
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.machines.accelerator.templates.products import (
    Products,
    largest_sum,
    of_convolution,
    of_dense,
    product_space,
)

LAYER = Products(rows=6, outputs=4, inputs=3, batch=1, lanes=16, depth=8)


def test_both_convolutions_have_the_layers_products() -> None:
    for one in (LAYER.pixels(), LAYER.images()):
        sizes = one.extents
        products = one.data[0] * sizes["oc"] * sizes["y"] * sizes["x"] * sizes["ic"]
        assert products == LAYER.rows * LAYER.outputs * LAYER.inputs
    assert LAYER.extents == {"oc": 4, "n": 6, "ic": 3}


def test_choices_of_the_base_space_have_another_name() -> None:
    choices = product_space(LAYER, Epilogue()).choices()
    found = of_convolution(choices)
    assert "x" in found.columns
    assert "n" not in found.columns
    np.testing.assert_array_equal(found["x"], choices["n"])
    for knob in ("y", "ky"):
        assert (found[knob] == 1).all()
    assert found.settings["order"][found["order"][0]] == "outputs"


def test_the_wide_space_is_the_convolutions() -> None:
    """Each choice is one of the convolution over pixels, and no two are the same one."""
    own = pipelined.space(LAYER.pixels())
    dense = of_dense(own)
    assert "n" in dense.knobs
    assert not {"x", "y", "ky"} & {*dense.knobs}
    found = of_convolution(dense.choices())
    assert dense.constraint(dense.choices()).all()
    assert own.constraint(found).all()
    rows = {tuple(column[at] for column in found.columns.values()) for at in range(len(found))}
    assert len(rows) == len(found)


@pytest.mark.parametrize(
    ("weight", "most"),
    [([[1, -2], [3, 4]], 7 * 128), ([[0, 0]], 128), ([[-128, 127]], 255 * 128)],
)
def test_largest_sum(weight: list[list[int]], most: int) -> None:
    """The rows of data are -128 where a weight is negative, or positive; 1 at least."""
    assert largest_sum(Constant(np.array(weight, np.int8))) == most

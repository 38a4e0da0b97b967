"""Gradients of changes of shape: each element's is where the element went."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients, value


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        ((2, 3), "transpose(x)"),
        ((2, 3, 4), "transpose(x, perm=[1, 2, 0])"),
        ((2, 3, 4), "transpose(x, perm=[0, 1, 2])"),
        ((2, 6), "reshape(x, shape=[3, -1])"),
        ((2, 0), "reshape(x, shape=[0, 5], allow_zero=True)"),
        ((2, 3, 2), "flatten(x, axis=2)"),
        ((1, 3, 1), "squeeze(x)"),
        ((1, 3, 1), "squeeze(x, axes=[-1])"),
        ((1, 3, 1), "squeeze(x, axes=[0, 2])"),
        ((3, 2), "unsqueeze(x, axes=[0, -1])"),
        ((3, 1), "expand(x, shape=[2, 1, 4])"),
        ((3,), "expand(x, shape=[1])"),
        ((2, 3), "tile(x, repeats=[2, 3])"),
        ((2, 3), "tile(x, repeats=[1, 2])"),
        ((1, 2, 2, 3), "upsample(x, factors=[3, 2])"),
        ((1, 8, 1, 2), "depth_to_space(x, block=2)"),
        ((1, 8, 1, 2), "depth_to_space(x, block=2, column_row_depth=True)"),
        ((1, 2, 2, 4), "space_to_depth(x, block=2)"),
    ],
)
def test_each_element_has_the_sum_of_its_copies(shape: tuple[int, ...], call: str) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    param = f"x: float64{list(shape)}"
    (found,) = gradients(param, call, x)
    went = value(param, call, x)
    assert isinstance(went, np.ndarray)
    wanted = np.zeros(x.size)
    np.add.at(wanted, went.reshape(-1).astype(int), np.arange(1.0, went.size + 1))
    np.testing.assert_array_equal(found, wanted.reshape(shape))

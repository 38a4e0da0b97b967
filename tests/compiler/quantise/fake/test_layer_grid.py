"""How the weights of a layer are rounded: shapes of scales, and the numbers on the grid."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.fake.layer_grid import LayerGrid
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.hw.weight_formats import INT4, TERNARY

OPTIONS = QuantiseOptions()
WEIGHTS = np.array([[1.0, -0.5, 0.25, 2.0], [0.1, 0.21, -0.4, 0.3]], np.float32)


def grid(form: LayerFormat | None = None, axis: int = 0) -> LayerGrid:
    return LayerGrid(axis, form, OPTIONS)


def test_operators() -> None:
    assert grid().operator.name == "fake_quantise"
    assert grid().attributes == grid().operator.attributes(low=-127, high=127)
    coded = grid(LayerFormat(INT4, 2))
    assert coded.operator.name == "fake_encode"
    assert coded.attributes == coded.operator.attributes(table=INT4.table)


@pytest.mark.parametrize(
    ("form", "axis", "shape"),
    [
        (None, 0, (2, 1, 1)),
        (None, 1, (1, 3, 1)),
        (LayerFormat(TERNARY, 2), 0, (2, 1, 1)),
        (LayerFormat(INT4, 2), 0, (2, 3, 4)),
    ],
)
def test_shapes_of_scales(form: LayerFormat | None, axis: int, shape: tuple[int, ...]) -> None:
    assert grid(form, axis).scale_shape((2, 3, 4)) == shape


def test_int8() -> None:
    # The largest of a channel is 127 steps.
    scales = grid().scales(WEIGHTS)
    np.testing.assert_allclose(scales, [[2 / 127], [0.4 / 127]], rtol=1e-6)
    assert scales.dtype == np.float32
    steps = np.round(WEIGHTS / scales)
    np.testing.assert_allclose(grid().rounded(WEIGHTS), steps * scales, rtol=1e-6)
    # Output channels are the last axis.
    turned = grid(axis=1)
    np.testing.assert_allclose(turned.scales(WEIGHTS), scales.T)
    np.testing.assert_allclose(turned.rounded(WEIGHTS.T), (steps * scales).T, rtol=1e-6)


@pytest.mark.parametrize("form", [LayerFormat(INT4, 2), LayerFormat(TERNARY, 4)])
def test_codes(form: LayerFormat) -> None:
    made = grid(form)
    scales, rounded = made.scales(WEIGHTS), made.rounded(WEIGHTS)
    assert scales.shape == made.scale_shape(WEIGHTS.shape)
    if form.form.scaled:
        # Two input channels share a scale.
        np.testing.assert_array_equal(scales[:, ::2], scales[:, 1::2])
        assert len(np.unique(scales)) > 2
    entries = rounded / scales
    np.testing.assert_allclose(entries, np.round(entries), atol=1e-4)
    assert {*np.round(entries).reshape(-1).astype(int)} <= {*form.form.table}

"""Convolutions along three axes, as those of images with planes as channels: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import helper

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.quantise.networks import called

Array = NDArray[Any]
RUN = NativeRunner()


def convolved(data: Array, weight: Array, attributes: dict[str, Any]) -> Array:
    """The sums of all windows, group by group, in float64."""
    groups = attributes.get("group", 1)
    pads, strides = attributes.get("pads", [0] * 6), attributes.get("strides", [1] * 3)
    gaps = attributes.get("dilations", [1] * 3)
    widths = [(0, 0), (0, 0), *zip(pads[:3], pads[3:], strict=True)]
    padded = np.pad(data.astype(np.float64), widths)
    spans = [(taps - 1) * gap + 1 for taps, gap in zip(weight.shape[2:], gaps, strict=True)]
    windows = sliding_window_view(padded, spans, (2, 3, 4))
    steps = [slice(None, None, each) for each in strides]
    taps = [slice(None, None, each) for each in gaps]
    windows = windows[(slice(None), slice(None), *steps, *taps)]
    parts = zip(np.split(windows, groups, 1), np.split(weight, groups), strict=True)
    found = [np.einsum("ncdhwxyz,ocxyz->nodhw", data_part, part) for data_part, part in parts]
    return np.concatenate(found, 1)


@pytest.mark.parametrize(
    ("shape", "weight", "attributes"),
    [
        ((1, 3, 5, 6, 4), (4, 3, 3, 3, 3), {}),
        ((2, 3, 5, 6, 4), (4, 3, 2, 1, 3), {"pads": [1, 0, 1, 0, 2, 1]}),
        ((1, 6, 5, 6, 4), (4, 3, 3, 2, 2), {"group": 2, "strides": [2, 1, 1]}),
        ((1, 4, 7, 7, 7), (4, 1, 3, 3, 3), {"group": 4, "dilations": [2, 1, 3]}),
        ((1, 3, 5, 6, 4), (2, 3, 1, 1, 1), {"strides": [3, 2, 1]}),
    ],
)
def test_three_axes(
    shape: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    random = np.random.default_rng(0)
    data = random.normal(size=shape).astype(np.float32)
    kernel = random.normal(size=weight).astype(np.float32)
    bias = random.normal(size=weight[0]).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    function = import_model(model([node], {"x": shape}, ["y"], {"w": kernel, "b": bias})).function
    assert called(function).count("conv2d") == 1
    found = evaluate(function, [data], RUN)
    assert isinstance(found, np.ndarray)
    wanted = convolved(data, kernel, attributes) + bias[:, None, None, None]
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)

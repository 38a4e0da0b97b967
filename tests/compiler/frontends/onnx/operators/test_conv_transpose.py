"""Transposed convolutions, as convolutions for each phase of their stride: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import ModelProto, helper

from tandem.compiler.driver import build
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.runtime.artifact import Provenance
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.plan.offloaded import HOST
from tests.support.compiler.quantise.networks import called
from tests.support.examples import examples

Array = NDArray[Any]


def transposed(weight: Array, shape: tuple[int, ...], **attributes: Any) -> ModelProto:
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)
    groups = attributes.get("group", 1)
    bias = np.arange(weight.shape[1] * groups, dtype=np.float32)
    return model([node], {"x": shape}, ["y"], {"w": weight, "b": bias})


def scattered(
    data: Array, weight: Array, strides: list[int], gaps: list[int], groups: int
) -> Array:
    """The whole result without bias: each element of the data adds its multiple of the kernel."""
    n, channels, *extents = data.shape
    _, own, *kernel = weight.shape
    rows, columns = (
        (extent - 1) * stride + (taps - 1) * gap + 1
        for extent, stride, taps, gap in zip(extents, strides, kernel, gaps, strict=True)
    )
    found = np.zeros((n, own * groups, rows, columns))
    for c in range(channels):
        first = c // (channels // groups) * own
        for ky, kx in np.ndindex(*kernel):
            y, x = ky * gaps[0], kx * gaps[1]
            place = found[:, first : first + own, y :: strides[0], x :: strides[1]]
            pixels = data[:, None, c] * weight[c, :, ky, kx][:, None, None]
            place[:, :, : extents[0], : extents[1]] += pixels
    return found


@st.composite
def layers(draw: st.DrawFn) -> dict[str, Any]:
    """Attributes, and the extents of data and kernel, of which some result is left."""
    pair = st.tuples
    stride = draw(st.integers(1, 4))
    found: dict[str, Any] = {
        "strides": [stride, stride] if draw(st.booleans()) else [stride, draw(st.integers(1, 3))],
        "dilations": list(draw(pair(st.integers(1, 3), st.integers(1, 3)))),
        "pads": draw(st.lists(st.integers(0, 4), min_size=4, max_size=4)),
        "group": draw(st.integers(1, 2)),
        "extents": draw(pair(st.integers(1, 5), st.integers(1, 5))),
        "kernel_shape": draw(pair(st.integers(1, 6), st.integers(1, 6))),
    }
    found["output_padding"] = [draw(st.integers(0, each - 1)) for each in found["strides"]]
    return found


@examples(10, 80)
@given(layer=layers(), seed=st.integers(0, 999))
def test_against_numpy(layer: dict[str, Any], seed: int) -> None:
    assume(min(result_of(layer)) > 0)
    agrees_with_numpy(layer, seed)


@pytest.mark.parametrize("strides", [[1, 3], [3, 1], [3, 2]])
def test_zeros_between_elements(strides: list[int]) -> None:
    """Of kernels that are smaller than a stride, along one axis or both."""
    same = {"dilations": [1, 1], "pads": [0] * 4, "group": 1, "output_padding": [0, 0]}
    agrees_with_numpy({"strides": strides, "extents": (3, 4), "kernel_shape": (1, 1), **same}, 1)


def result_of(layer: dict[str, Any]) -> list[int]:
    """The extents of a layer's result."""
    pads = layer["pads"]
    whole = zip(
        layer["extents"], layer["strides"], layer["kernel_shape"], layer["dilations"], strict=True
    )
    extents = [(size - 1) * step + (taps - 1) * gap + 1 for size, step, taps, gap in whole]
    return [
        extent + more - before - behind
        for extent, more, before, behind in zip(
            extents, layer["output_padding"], pads[:2], pads[2:], strict=True
        )
    ]


def agrees_with_numpy(layer: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes = {name: each for name, each in layer.items() if name != "extents"}
    groups, kernel = layer["group"], layer["kernel_shape"]
    data = rng.integers(-9, 9, (2, 2 * groups, *layer["extents"])).astype(np.float32)
    weight = rng.integers(-9, 9, (2 * groups, 3, *kernel)).astype(np.float32)
    whole = scattered(data, weight, layer["strides"], layer["dilations"], groups)
    top, left, bottom, right = layer["pads"]
    below, beside = layer["output_padding"]
    rows, columns = whole.shape[2] + below - bottom, whole.shape[3] + beside - right
    grown = np.pad(whole, ((0, 0), (0, 0), (0, below), (0, beside)))
    wanted = grown[:, :, top:rows, left:columns] + np.arange(3 * groups)[:, None, None]
    imported = import_model(transposed(weight, data.shape, **attributes))
    found = evaluate(imported.function, [data], NativeRunner(1))
    np.testing.assert_array_equal(found, wanted)


def products_of(strides: list[int], kernel: int, pad: int) -> tuple[list[str], int]:
    """The operators of an imported layer, and the products that they compute."""
    weight = np.ones((8, 4, kernel, kernel), np.float32)
    given_ = {"strides": strides, "pads": [pad] * 4, "kernel_shape": [kernel] * 2}
    function = import_model(transposed(weight, (1, 8, 6, 6), **given_)).function
    artifact = build(function, [HOST], Provenance("layer"))
    return called(function), sum(step.macs for step in artifact.manifest.steps)


def test_no_zero_is_multiplied() -> None:
    """A generator's layer: 4 x 4 with stride 2, of which each output meets 2 x 2 elements."""
    operators, macs = products_of([2, 2], 4, 1)
    assert operators.count("conv2d") == 4
    assert operators[-1] == "depth_to_space"
    assert macs == 12 * 12 * 4 * 8 * 2 * 2


def test_kernels_smaller_than_the_stride_meet_zeros() -> None:
    operators, _ = products_of([3, 3], 2, 0)
    assert operators.count("conv2d") == 1
    assert "depth_to_space" not in operators

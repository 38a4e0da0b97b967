"""Tests of per-layer quantisation errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from compiler.driver.compile_onnx import CompileOptions
from compiler.graph.native import NativeRunner
from compiler.graph.printer import text
from compiler.quantise.calibrate import calibrate
from compiler.quantise.network import apply_scales, quantise_network, scales_from
from compiler.quantise.options import Mode, QuantiseOptions
from compiler.quantise.samples import synthetic
from tests.support.layer_errors import LayerError, errors, layers, show_errors
from tests.support.networks import network, residual

RUN = NativeRunner()
EXACT_ON = CompileOptions().exact_on


@pytest.mark.parametrize("mode", list(Mode))
def test_every_layer_of_a_residual_network(mode: Mode) -> None:
    function = residual(6)
    found = quantise_network(
        function, list(synthetic(function)), RUN, QuantiseOptions(mode), EXACT_ON
    )
    (sample,) = synthetic(function, 1, seed=5)
    found_errors = errors(found, sample, RUN)
    assert [(each.name, *each.operators) for each in found_errors] == [
        ("r1", "conv2d"),
        ("r2", "conv2d", "requantise_add"),
        ("p2", "max_pool"),
        ("r3", "conv2d"),
        ("c5", "conv2d"),
        ("r4", "conv2d", "requantise_add"),
        ("g", "reduce_sum"),
        ("f", "flatten"),
        ("y", "dense"),
    ]
    assert min(each.sqnr for each in found_errors) >= (30 if mode is Mode.MULTIPLIER else 26)
    assert all(each.largest is None or each.largest < 60 for each in found_errors)


def test_a_layer_is_fed_what_real_numbers_are_there() -> None:
    """If one layer's weights are wrong, only its error is large."""
    function, options = residual(6), QuantiseOptions()
    chosen = scales_from(calibrate(function, list(synthetic(function)), RUN), options)
    (sample,) = synthetic(function, 1, seed=5)
    good = errors(apply_scales(function, chosen, options, EXACT_ON), sample, RUN)
    wrong = apply_scales(residual(6, w3=np.ones((16, 8, 3, 3))), chosen, options, EXACT_ON)
    bad = errors(replace(wrong, real=function), sample, RUN)
    assert [a.name for a, b in zip(bad, good, strict=True) if a.sqnr != b.sqnr] == ["r3"]
    assert min(each.sqnr for each in bad) < 10


def test_layers(golden: Callable[[str, str], None]) -> None:
    function = network(
        "func @main(x: float32[1, 2, 4, 4], w: float32[3, 2, 1, 1], v: float32[3, 3, 1, 1]):\n"
        "  c = conv2d(x, w)\n  s = sigmoid(c)\n  d = conv2d(s, v)\n  r = relu(d)\n"
        "  e = conv2d(r, v)\n  return e"
    )
    found = quantise_network(function, list(synthetic(function)), RUN, targets=EXACT_ON)
    lines = []
    for layer in layers(found):
        inputs = [name for name, _ in layer.inputs]
        lines.append(f"{layer.name}: {layer.operators} of {inputs}\n{text(layer.function)}\n")
    golden("quantise/layers.txt", "".join(lines))


def test_the_table() -> None:
    rows = (
        LayerError("relu_1", ("conv2d",), 34.567, 1.25, 0.001),
        LayerError("logits", ("dense",), math.inf, None, 0.0),
    )
    assert show_errors(rows) == (
        "layer                     SQNR dB  largest  clipped  operators\n"
        "relu_1                      34.57     1.25    0.10%  conv2d\n"
        "logits                        inf             0.00%  dense\n"
    )

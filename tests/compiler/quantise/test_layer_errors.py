"""Tests of per-layer quantisation errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.calibrate import calibrate
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.layer_errors import layer_errors
from tandem.compiler.quantise.layers import layers
from tandem.compiler.quantise.network import apply_scales, quantise_network, scales_from
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.compiler.quantise.points import return_values
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import network, residual
from tests.support.compiler.quantise.quantised_reference import reference

RUN = NativeRunner()
EXACT_ON = compile_options().exact_on
OPTIONS = QuantiseOptions()


@pytest.mark.parametrize("mode", list(Mode))
def test_every_layer_of_a_residual_network(mode: Mode) -> None:
    function = residual(6)
    found = quantise_network(
        function, list(synthetic(function)), RUN, QuantiseOptions(mode), EXACT_ON
    )
    errors = layer_errors(found, synthetic(function, 1, seed=5), RUN)
    assert [(each.name, *each.operators) for each in errors] == [
        ("x", "quantise"),
        ("r1", "conv2d"),
        ("r2", "conv2d", "requantise_add"),
        ("p2", "max_pool"),
        ("r3", "conv2d"),
        ("c5", "conv2d"),
        ("r4", "conv2d", "requantise_add"),
        ("g", "reduce_sum"),
        ("y", "dense"),
    ]
    assert {each.name: each.readers for each in errors} == {
        "x": ("r1",),
        "r1": ("r2",),
        "r2": ("p2",),
        "p2": ("r3", "c5"),
        "r3": ("r4",),
        "c5": ("r4",),
        "r4": ("g",),
        "g": ("y",),
        "y": (),
    }
    assert min(each.own_sqnr for each in errors) >= (30 if mode is Mode.MULTIPLIER else 26)
    assert all(each.largest is None or each.largest < 60 for each in errors)


@pytest.mark.parametrize("mode", list(Mode))
def test_against_numpy(mode: Mode) -> None:
    """Integers by NumPy's reference, rounding and ratios written out here, over two samples."""
    function = residual(6)
    found = quantise_network(
        function, list(synthetic(function)), RUN, QuantiseOptions(mode), EXACT_ON
    )
    samples = [*synthetic(function, 2, seed=5)]
    parts = [*layers(found)]
    names = [*dict.fromkeys(name for each in parts for name in (each.name, *dict(each.inputs)))]
    sums = {each.tensor: np.zeros(4) for each in parts}
    for sample in samples:
        real = values_of(found.real, names, sample)
        whole = reference(found.function, sample)
        for part in parts:
            inputs = [to_int8(real[name], scale) for name, scale in part.inputs]
            own = to_real(reference(part.function, inputs)[part.tensor], part.scale)
            pairs = zip(inputs, part.inputs, strict=True)
            same = {name: to_real(array, scale) for array, (name, scale) in pairs}
            taken = [same[each.name].astype(np.float32) for each in part.real.params]
            alone = values_of(part.real, [part.name], taken)[part.name].astype(np.float64)
            wanted = real[part.name].astype(np.float64)
            sums[part.tensor] += [
                float((wanted**2).sum()),
                float(((to_real(whole[part.tensor], part.scale) - wanted) ** 2).sum()),
                float((alone**2).sum()),
                float(((own - alone) ** 2).sum()),
            ]
    errors = layer_errors(found, samples, RUN)
    for error, (signal, noise, own_signal, own_noise) in zip(errors, sums.values(), strict=True):
        assert error.sqnr == pytest.approx(10 * math.log10(signal / noise), abs=1e-3)
        if own_noise == 0:
            assert error.own_sqnr == math.inf
        else:
            assert error.own_sqnr == pytest.approx(
                10 * math.log10(own_signal / own_noise), abs=1e-3
            )


def values_of(
    function: Function, names: Sequence[str], given: Sequence[NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Values in real numbers, by the interpreter."""
    values = evaluate(return_values(function, names), given)
    assert isinstance(values, tuple)
    return dict(zip(names, map(np.asarray, values), strict=True))


def to_int8(values: NDArray[Any], scale: Scale | None) -> NDArray[Any]:
    if scale is None:
        return values
    return np.clip(np.rint(values.astype(np.float64) / scale.step), -128, 127).astype(np.int8)


def to_real(values: NDArray[Any], scale: Scale | None) -> NDArray[Any]:
    return values.astype(np.float64) * (1 if scale is None else scale.step)


def test_a_layer_with_wrong_weights_is_the_worst_by_its_own_error() -> None:
    """If one layer's weights are wrong, only its own error is large; later ones inherit it."""
    function = residual(6)
    chosen = scales_from(calibrate(function, list(synthetic(function)), RUN), OPTIONS)
    samples = [*synthetic(function, 1, seed=5)]
    good = layer_errors(apply_scales(function, chosen, OPTIONS, EXACT_ON), samples, RUN)
    wrong = apply_scales(residual(6, w3=np.ones((16, 8, 3, 3))), chosen, OPTIONS, EXACT_ON)
    bad = layer_errors(replace(wrong, real=function), samples, RUN)
    pairs = [*zip(bad, good, strict=True)]
    assert [a.name for a, b in pairs if a.own_sqnr != b.own_sqnr] == ["r3"]
    assert [a.name for a, b in pairs if a.sqnr != b.sqnr] == ["r3", "r4", "g", "y"]
    assert min(bad, key=lambda error: error.own_sqnr).name == "r3"
    assert min(each.own_sqnr for each in bad) < 10


@pytest.mark.parametrize("factor", [1 / 16, 64])
def test_a_layer_with_a_wrong_scale_is_the_worst_by_its_own_error(factor: float) -> None:
    """Too small a scale clips, too large a one rounds to few values."""
    function = residual(6)
    chosen = scales_from(calibrate(function, list(synthetic(function)), RUN), OPTIONS)
    chosen["r3"] = Scale(chosen["r3"].step * factor)
    errors = layer_errors(
        apply_scales(function, chosen, OPTIONS, EXACT_ON), synthetic(function, 1, seed=5), RUN
    )
    worst = min(errors, key=lambda error: error.own_sqnr)
    assert (worst.name, worst.clipped > 0.1) == ("r3", factor < 1)
    assert worst.own_sqnr < 12
    assert all(each.own_sqnr >= 20 for each in errors if each is not worst)


def test_outliers_among_weights_are_found() -> None:
    """One weight that is 1000 times the others leaves the others of its channel 0."""
    weights = np.random.default_rng(3).normal(size=(16, 8, 3, 3)).astype(np.float32)
    weights[:, 0, 0, 0] = 1000
    function = residual(6, w3=weights)
    found = quantise_network(function, list(synthetic(function)), RUN, targets=EXACT_ON)
    errors = layer_errors(found, synthetic(function, 1, seed=5), RUN)
    assert min(errors, key=lambda error: error.own_sqnr).name == "r3"


def test_a_network_that_states_scales_is_compared_with_its_own_rounding() -> None:
    """x = 0.26 is 3 in steps of 0.1, in the model too: no error. In real numbers it would be."""
    function = network(
        "func @main(x: float32[2]):\n"
        "  q = quantise(x, float32[](0.1), int8[](0))\n"
        "  d = dequantise(q, float32[](0.1), int8[](0))\n"
        "  r = relu(d)\n"
        "  s = quantise(r, float32[](0.1), int8[](0))\n"
        "  t = dequantise(s, float32[](0.1), int8[](0))\n  return t"
    )
    found = quantise_network(function, [], RUN, targets=EXACT_ON)
    errors = layer_errors(found, [[np.array([0.26, -1], np.float32)]], RUN)
    assert errors
    assert all(each.sqnr == each.own_sqnr == math.inf for each in errors)
    assert [each.largest for each in errors] == [0.0] * len(errors)


def test_a_reference_that_is_not_finite_has_no_ratio() -> None:
    """ln(0) is minus infinity, and no integer."""
    function = network(
        "func @main(x: float32[1, 2, 1, 1], w: float32[2, 2, 1, 1]):\n"
        "  c = conv2d(x, w)\n  l = log(c)\n  y = conv2d(l, w)\n  return y"
    )
    chosen = {name: Scale(0.1) for name in ("x", "c", "l", "y")}
    found = apply_scales(function, chosen, OPTIONS, EXACT_ON)
    zeros = np.zeros((1, 2, 1, 1), np.float32)
    errors = {each.name: each for each in layer_errors(found, [[zeros]], RUN)}
    assert math.isnan(errors["y"].sqnr)
    assert errors["x"].sqnr == math.inf


def test_a_network_with_a_branch() -> None:
    """The layers around it are compared, those within it are not."""
    function = network(
        "func @main(xc: bool[], x: float32[1, 2, 2, 2], w: float32[2, 2, 1, 1]):\n"
        "  y = conv2d(x, w)\n"
        "  z = if xc:\n    a = conv2d(y, w)\n    yield a\n  else:\n    yield y\n"
        "  r = conv2d(z, w)\n  return r"
    )
    found = quantise_network(function, list(synthetic(function)), RUN, targets=EXACT_ON)
    errors = layer_errors(found, synthetic(function, 1, seed=5), RUN)
    assert [each.name for each in errors] == ["x", "y", "z", "r"]
    assert min(each.own_sqnr for each in errors) > 10

"""Layers that state their scales: on every preset as on the CPU, as ONNX's reference computes them,
and with the share of products on the array that the same layer in float32 has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.requantisation.scales import FINE
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.parameter_word import MULTIPLIER_BITS
from tests.support.compiler.quantise.random_stated_layers import StatedLayer, stated_layers
from tests.support.compiler.quantise.stated_layers import share_and_outputs

_PRESETS = preset_names()


def check(layer: StatedLayer, preset: str) -> None:
    config = load_config(preset)
    share, (found,) = share_and_outputs(layer.model, layer.inputs, config)
    plain, _ = share_and_outputs(layer.plain, layer.inputs, config)
    assert share >= plain
    wanted = layer.wanted
    assert found.shape == wanted.shape
    if not layer.step:
        largest = float(np.abs(wanted).max(initial=0))
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-6 * largest)
        return
    # Near halves may be rounded otherwise, by one step: where the multiplier, which is rounded, and
    # the zero point's part, which is multiplied with it, may move the exact value across.
    off = np.abs(found.astype(np.float64) - wanted) / layer.step
    assert off.max(initial=0) < 1.01
    steps = layer.steps[off > 0.01]
    to_half = np.abs(steps - np.floor(steps) - 0.5)
    assert (to_half <= float(FINE) + np.abs(steps) * 2.0 ** (1 - MULTIPLIER_BITS)).all()


@settings(max_examples=3)
@given(layer=stated_layers(), preset=st.sampled_from(_PRESETS))
def test_layers(layer: StatedLayer, preset: str) -> None:
    check(layer, preset)


@pytest.mark.exhaustive
@pytest.mark.parametrize("preset", _PRESETS)
@settings(max_examples=100)
@given(layer=stated_layers())
def test_layers_on_every_preset(preset: str, layer: StatedLayer) -> None:
    check(layer, preset)

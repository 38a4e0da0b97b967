"""A layer keeps its place on the array, and its accuracy, whatever becomes of some channels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import preset_names
from tests.e2e.damaged_layers import Damage, DamagedLayer, LayerKind
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.plan.offloaded_models import QuantisedModel

ALONE = (LayerKind.POINTWISE, LayerKind.CONV, LayerKind.DEPTHWISE, LayerKind.NORMALISED)
LEAST = 27
"""Decibels: with powers of two a scale is up to twice as large as it has to be."""


@st.composite
def layers(draw: st.DrawFn) -> DamagedLayer:
    """Up to half of the channels are damaged."""
    channels = draw(st.integers(4, 20))
    damaged = draw(st.sets(st.integers(0, channels - 1), min_size=1, max_size=channels // 2))
    return DamagedLayer(
        kind=draw(st.sampled_from(LayerKind)),
        damage=draw(st.sampled_from([each for each in Damage if each is not Damage.NONE])),
        channels=channels,
        inputs=draw(st.integers(1, 70)),
        damaged=tuple(sorted(damaged)),
        bias=draw(st.floats(0.01, 3)) * draw(st.sampled_from([-1, 1])),
        seed=draw(st.integers(0, 999)),
    )


def check(layer: DamagedLayer, mode: Mode, presets: Iterable[str]) -> None:
    damaged = QuantisedModel(layer.model, mode, layer.data)
    healthy = QuantisedModel(replace(layer, damage=Damage.NONE).model, mode, layer.data)
    for preset in presets:
        found, wanted = damaged.on(preset), healthy.on(preset)
        assert (found.share, found.launches) == (wanted.share, wanted.launches) == (1, 1)
        assert damaged.sqnr(found) > min(LEAST, healthy.sqnr(wanted))
        if layer.is_constant and layer.kind in ALONE:
            # An eighth for the bias, half for rounding, and next to nothing for products.
            assert all(damaged.steps_off(found, "y", each) < 0.63 for each in layer.damaged)


@pytest.mark.parametrize("bias", [0.23, 1.7])
def test_a_dead_channel(bias: float) -> None:
    """Its real value is its bias; the integer is the nearest one, by hand."""
    rng = np.random.default_rng(5)
    w, b = rng.standard_normal((16, 64, 1, 1)) / 8, rng.standard_normal(16) / 10
    w[3], b[3] = 1e-9, bias
    weights = {"w": w.astype(np.float32), "b": b.astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"])]
    data = {"x": rng.standard_normal((1, 64, 6, 6)).astype(np.float32)}
    conv = QuantisedModel(model(nodes, {"x": (1, 64, 6, 6)}, ["y"], weights), Mode.MULTIPLIER, data)
    for preset in ("pynq", "small8-x"):
        found = conv.on(preset)
        assert found.share == 1
        step = np.float32(conv.network.scales["y_int8"].step)
        nearest = min(round(bias / float(step)), 127)
        assert np.unique(found.outputs["y"][:, 3]).tolist() == [np.float32(nearest) * step]
        assert conv.sqnr(found) > 35


MODES = st.sampled_from(Mode)


@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@given(layer=layers(), mode=MODES, preset=st.sampled_from(preset_names()))
def test_some(layer: DamagedLayer, mode: Mode, preset: str) -> None:
    check(layer, mode, [preset])


@pytest.mark.exhaustive
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(layer=layers(), mode=MODES)
def test_many_on_every_preset(layer: DamagedLayer, mode: Mode) -> None:
    check(layer, mode, preset_names())

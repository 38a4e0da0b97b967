"""A layer whose result is read in several ways is done on the array, and stored there once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnx import helper

from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import preset_names
from tests.e2e.shared_sums import ReaderKind, SharedSums, SumKind
from tests.support.compiler.frontends.onnx_models import model, read_weights
from tests.support.compiler.plan.offloaded_models import QuantisedModel

LEAST = 25
"""Decibels: with powers of two a scale is up to twice as large as it has to be."""


@st.composite
def networks(draw: st.DrawFn) -> SharedSums:
    """Two or three readers, alike or not."""
    return SharedSums(
        kind=draw(st.sampled_from(SumKind)),
        readers=tuple(draw(st.lists(st.sampled_from(ReaderKind), min_size=2, max_size=3))),
        join=draw(st.sampled_from(["Add", "Concat", "Identity"])),
        ends_in_layer=draw(st.booleans()),
        channels=draw(st.integers(2, 20)),
        seed=draw(st.integers(0, 999)),
    )


def check(network: SharedSums, mode: Mode, presets: Iterable[str]) -> None:
    shared = QuantisedModel(network.model, mode, network.data)
    alone = replace(network, readers=network.readers[:1])
    single = QuantisedModel(alone.model, mode, alone.data)
    for preset in presets:
        found, wanted = shared.on(preset), single.on(preset)
        # Machines with batch 2 leave products of two activations to the CPU in any case.
        assert wanted.macs_on_cpu == 0 or network.kind is SumKind.ACTIVATIONS
        assert found.macs_on_cpu == wanted.macs_on_cpu
        assert shared.sqnr(found) > LEAST


CONV = helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1])
RELU = helper.make_node("Relu", ["a"], ["b"])
REPORTED = {
    "relu and add": [CONV, RELU, helper.make_node("Add", ["a", "b"], ["y"])],
    "residual before activation": [
        *(CONV, RELU),
        helper.make_node("Conv", ["b", "v"], ["c"]),
        helper.make_node("Add", ["c", "a"], ["y"]),
    ],
}


@pytest.mark.parametrize("case", REPORTED)
def test_reported(case: str) -> None:
    """All is one launch; the real values are those of ONNX's reference evaluator."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((16, 16, 3, 3)) / 12,
        "v": rng.standard_normal((16, 16, 1, 1)),
    }
    nodes = REPORTED[case]
    kept = read_weights(nodes, {name: each.astype(np.float32) for name, each in weights.items()})
    data = {"x": rng.standard_normal((1, 16, 8, 8)).astype(np.float32)}
    shared = QuantisedModel(model(nodes, {"x": (1, 16, 8, 8)}, ["y"], kept), Mode.MULTIPLIER, data)
    for preset in ("pynq", "small8-x"):
        found = shared.on(preset)
        assert (found.share, found.launches) == (1, 1)
        assert shared.sqnr(found) > 33


MODES = st.sampled_from(Mode)


NEGATIVE = SharedSums(
    kind=SumKind.DENSE,
    readers=(ReaderKind.POOLED, ReaderKind.LAYER, ReaderKind.RELU),
    join="Add",
    ends_in_layer=True,
    channels=2,
    seed=877,
)
"""All sums are negative, so that their ReLU is zero everywhere."""


@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@example(network=NEGATIVE, mode=Mode.MULTIPLIER, preset="pynq")
@given(network=networks(), mode=MODES, preset=st.sampled_from(preset_names()))
def test_some(network: SharedSums, mode: Mode, preset: str) -> None:
    check(network, mode, [preset])


@pytest.mark.exhaustive
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(network=networks(), mode=MODES)
def test_many_on_every_preset(network: SharedSums, mode: Mode) -> None:
    check(network, mode, preset_names())

"""Blocks that images and channels do not fill: what is there is never compared, and changes nothing
that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config, preset_names
from tandem.runtime.artifact import Provenance
from tests.support.compiler.models.models import one_channel
from tests.support.compiler.models.random_models import RandomModel
from tests.support.compiler.plan.boundaries import check_boundaries

SEEDS = st.integers(0, 2**32 - 1)


def prepared(model: ModelProto, mode: Mode) -> PreparedNetwork:
    return prepare_network(model, Provenance("padding"), compile_options(quantise=mode))


@pytest.mark.parametrize("mode", [Mode.MULTIPLIER, Mode.POW2])
def test_lanes_without_a_channel(mode: Mode) -> None:
    """On every preset; and as ONNX's reference computes it, to within steps of int8."""
    model = one_channel()
    data = {"x": np.random.default_rng(6).normal(size=(1, 5, 6, 2)).astype(np.float32)}
    reference: Any = ReferenceEvaluator(model).run(None, data)
    (wanted,) = reference
    network = prepared(model, mode)
    for preset in preset_names():
        run = check_boundaries(network.build, load_config(preset), data)
        assert sum(each.macs for each in run.profile.steps if each.device == "accelerator") == 60
        np.testing.assert_allclose(run.outputs["y"], wanted, atol=np.abs(wanted).max() / 30)


def product() -> ModelProto:
    """A product of two activations, whose rows, columns and sums fill no blocks; the CPU packs
    what serves as weights, with zeros that are sums' terms."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["a", "b"], ["c"]),
            helper.make_node("MatMul", ["c", "d"], ["y"]),
        ],
        "product",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in PRODUCT.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 5, 6))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


PRODUCT = {"a": (2, 5, 7), "b": (2, 7, 19), "d": (2, 19, 6)}


@pytest.mark.parametrize("preset", ["tiny", "pynq-x"])
def test_padding_of_products(preset: str) -> None:
    rng = np.random.default_rng(8)
    data = {name: rng.normal(size=shape).astype(np.float32) for name, shape in PRODUCT.items()}
    network = prepared(product(), Mode.MULTIPLIER)
    run = check_boundaries(network.build, load_config(preset), data, poison=8)
    on_array = [each.macs for each in run.profile.steps if each.device == "accelerator"]
    assert sum(on_array) == 2 * 5 * 19 * (7 + 6)
    wanted = data["a"] @ data["b"] @ data["d"]
    np.testing.assert_allclose(run.outputs["y"], wanted, atol=np.abs(wanted).max() / 15)


def check_random(seed: int, preset: str, mode: Mode, alone: bool) -> None:
    """A random network whose devices leave their own and then random bytes in all padding."""
    random = RandomModel.of(seed)
    network, config, data = prepared(random.model, mode), load_config(preset), random.data(1)
    for poison in (None, seed):
        check_boundaries(network.build, config, data, poison=poison, alone=alone)


PRESETS, MODES = st.sampled_from(preset_names()), st.sampled_from([Mode.MULTIPLIER, Mode.POW2])


@settings(max_examples=4)
@given(seed=SEEDS, preset=PRESETS, mode=MODES, alone=st.booleans())
def test_padding_changes_nothing(seed: int, preset: str, mode: Mode, alone: bool) -> None:
    check_random(seed, preset, mode, alone)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", [Mode.MULTIPLIER, Mode.POW2])
@pytest.mark.parametrize("preset", preset_names())
@settings(max_examples=20)
@given(seed=SEEDS, alone=st.booleans())
def test_padding_changes_nothing_on_any_preset(
    preset: str, mode: Mode, seed: int, alone: bool
) -> None:
    check_random(seed, preset, mode, alone)

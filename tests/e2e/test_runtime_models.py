"""Networks that ONNX Runtime optimised or quantised: its results, and the accelerator's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.driver.compile_onnx import prepare_network
from tandem.compiler.errors import UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.e2e.runtime_models import (
    convolutional,
    decoder,
    encoder,
    feeds,
    grouped_decoder,
    optimised,
    quantised,
)
from tests.support.compiler.frontends.onnx_runs import rival_outputs
from tests.support.compiler.plan.boundaries import check_boundaries
from tests.support.compiler.plan.offloaded import HOST


def operators(model: ModelProto) -> set[str]:
    """The operators of ONNX Runtime in a model."""
    return {node.op_type for node in model.graph.node if node.domain == "com.microsoft"}


def apart(model: ModelProto) -> float:
    """The greatest difference from ONNX Runtime's results, in parts of the greatest of them."""
    data = feeds(model)
    network = prepare_network(model, Provenance("test"), compile_options(quantise=None))
    found = Executor(network.build([HOST]), [CpuDevice(1)]).run(data).outputs
    wanted = rival_outputs(model, data)
    differences = []
    for ours, theirs in zip(found.values(), wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        differences.append(np.abs(ours - theirs).max() / np.abs(theirs).max())
    return float(max(differences))


def on_accelerator(model: ModelProto, preset: str) -> tuple[float, NDArray[np.float32]]:
    """The share of products on the accelerator, and the first result, equal to the CPU's."""
    options = compile_options(quantise=Mode.MULTIPLIER)
    network = prepare_network(model, Provenance("test"), options)
    run = check_boundaries(network.build, load_config(preset), feeds(model))
    steps = [step for step in run.profile.steps if step.macs]
    done = sum(step.macs for step in steps if step.device == "accelerator")
    return done / sum(step.macs for step in steps), next(iter(run.outputs.values()))


def sqnr(found: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    noise = np.square(found.astype(np.float64) - wanted).sum()
    return float(10 * np.log10(np.square(wanted.astype(np.float64)).sum() / max(noise, 1e-30)))


@pytest.mark.parametrize(
    ("unsigned", "layout", "preset"),
    [
        pytest.param(True, False, "pynq", marks=pytest.mark.exhaustive),
        (True, True, "pynq-x"),
        pytest.param(False, False, "tiny-x", marks=pytest.mark.exhaustive),
    ],
)
def test_a_quantised_network(tmp_path: Path, unsigned: bool, layout: bool, preset: str) -> None:
    """In QOperator format, with channels last too: every element as ONNX Runtime has it, at most a
    few within one step; and all products on the accelerator, with the model's own scales."""
    model = quantised(convolutional(), tmp_path, unsigned=unsigned)
    if layout:
        model = optimised(model, tmp_path, layout=True)
        assert {"QLinearConv", "NhwcMaxPool"} <= operators(model)
    assert {
        *("QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat"),
        *("QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid"),
        "QLinearSoftmax",
    } <= operators(model)
    assert apart(model) < 0.02
    share, found = on_accelerator(model, preset)
    assert share == 1
    (wanted,) = rival_outputs(model, feeds(model))
    assert sqnr(found, wanted) > 30


@pytest.mark.exhaustive
def test_an_optimised_convolutional_network(tmp_path: Path) -> None:
    model = optimised(convolutional(), tmp_path)
    assert operators(model) == {"FusedConv"}
    assert apart(model) < 1e-5
    share, _ = on_accelerator(model, "pynq-x")
    assert share == 1


def test_a_layout_of_one_machine(tmp_path: Path) -> None:
    """Refused, with what helps."""
    model = optimised(convolutional(), tmp_path, layout=True)
    if not any(node.domain == "com.microsoft.nchwc" for node in model.graph.node):
        pytest.skip("ONNX Runtime has no such layout on this machine")
    with pytest.raises(UnsupportedError, match="save it with ORT_ENABLE_EXTENDED"):
        import_model(model)


def test_an_optimised_encoder(tmp_path: Path) -> None:
    model = optimised(encoder(), tmp_path, layout=True)
    assert {"FusedMatMul", "Gelu", "SkipLayerNormalization"} <= operators(model)
    assert apart(model) < 1e-5
    share, found = on_accelerator(model, "pynq-x")
    # The rest are those of layer normalisations.
    assert share > 0.98
    (wanted,) = rival_outputs(model, feeds(model))
    assert sqnr(found, wanted) > 25


@pytest.mark.parametrize(
    "make", [pytest.param(decoder, marks=pytest.mark.exhaustive), grouped_decoder]
)
def test_a_decoder(make: Callable[[], ModelProto]) -> None:
    model = make()
    assert apart(model) < 1e-5
    share, found = on_accelerator(model, "pynq-x")
    assert share > 0.99
    wanted = rival_outputs(model, feeds(model))[0]
    assert sqnr(found, wanted) > 25

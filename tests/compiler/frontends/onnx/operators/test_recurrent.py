"""Recurrent layers against ONNX Runtime, with all their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.operators import recurrent
from tandem.runtime.artifact import MoveRow, RunStep
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.onnx_runs import agree

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
PLAIN = ("Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid")


def layer(
    operator: str,
    steps: int,
    batch: int,
    seed: int,
    *,
    direction: str = "forward",
    bias: bool = True,
    lengths: bool = False,
    initial: bool = False,
    peepholes: bool = False,
    **attributes: Any,
) -> tuple[ModelProto, dict[str, np.ndarray[Any, Any]]]:
    """A model of one layer of 3 inputs and 4 hidden values, and an input for it."""
    generator = np.random.default_rng(seed)
    hidden, width = 4, 3
    gates, directions = GATES[operator], 2 if direction == "bidirectional" else 1

    def numbers(*shape: int) -> np.ndarray[Any, Any]:
        return (generator.standard_normal(shape) / 2).astype(np.float32)

    given_ = {
        "w": numbers(directions, gates * hidden, width),
        "r": numbers(directions, gates * hidden, hidden),
    }
    names = ["x", "w", "r", "", "", "", "", ""]
    if bias:
        given_["b"] = numbers(directions, 2 * gates * hidden)
        names[3] = "b"
    if lengths:
        given_["lengths"] = generator.integers(1, steps + 1, batch).astype(np.int32)
        names[4] = "lengths"
    if initial:
        given_["h"], names[5] = numbers(directions, batch, hidden), "h"
        if operator == "LSTM":
            given_["c"], names[6] = numbers(directions, batch, hidden), "c"
    if peepholes:
        given_["p"], names[7] = numbers(directions, 3 * hidden), "p"
    while not names[-1]:
        names.pop()
    outputs = ["y", "y_h"] + (["y_c"] if operator == "LSTM" else [])
    node = helper.make_node(
        operator, names, outputs, hidden_size=hidden, direction=direction, **attributes
    )
    found = model([node], {"x": [steps, batch, width]}, outputs, given_, opset=14)
    return found, {"x": numbers(steps, batch, width)}


@st.composite
def layers(draw: st.DrawFn) -> tuple[ModelProto, dict[str, np.ndarray[Any, Any]]]:
    operator = draw(st.sampled_from([*GATES]))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    attributes: dict[str, Any] = {}
    count = ACTIVATIONS[operator] * (2 if direction == "bidirectional" else 1)
    if draw(st.booleans()):
        attributes["activations"] = draw(st.tuples(*[st.sampled_from(PLAIN)] * count))
    if draw(st.booleans()):
        attributes["clip"] = draw(st.sampled_from([0.25, 1.0]))
    if operator == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if operator == "LSTM":
        attributes["input_forget"] = draw(st.integers(0, 1))
        attributes["peepholes"] = draw(st.booleans())
    return layer(
        operator,
        draw(st.integers(1, 4)),
        draw(st.integers(1, 3)),
        draw(st.integers(0, 99)),
        direction=direction,
        bias=draw(st.booleans()),
        lengths=draw(st.booleans()),
        initial=draw(st.booleans()),
        **attributes,
    )


def test_a_layer() -> None:
    whole, feeds = layer("RNN", 2, 2, 1, lengths=True)
    assert not agree(whole, feeds).manifest.functions


@pytest.mark.parametrize(
    "activation",
    ["Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "Softplus", "ThresholdedRelu"],
)
def test_activations_with_numbers(activation: str) -> None:
    alpha, beta = [0.5], [0.25]
    given_ = layer(
        "RNN", 2, 2, 3, activations=[activation], activation_alpha=alpha, activation_beta=beta
    )
    agree(*given_)


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(layers())
def test_layers(drawn: tuple[ModelProto, dict[str, np.ndarray[Any, Any]]]) -> None:
    agree(*drawn)


@pytest.mark.every(3)
@pytest.mark.parametrize("operator", ["GRU", "RNN", "LSTM"])
def test_a_long_sequence_is_a_loop(operator: str) -> None:
    """Of steps that do not grow with its length: of kernels as of an artifact of 65 time steps."""
    steps = set()
    for length in (65, 300):
        whole, feeds = layer(operator, length, 2, 3, direction="bidirectional", lengths=True)
        manifest = agree(whole, feeds).manifest
        assert len(manifest.functions) == 3
        steps.add(len(manifest.steps))
    assert len(steps) == 1


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_a_loop_writes_its_rows_in_place(operator: str) -> None:
    """Copies beside the rows are of its state and of numbers: nothing as long as the sequence."""
    whole, feeds = layer(operator, 65, 1, 3)
    manifest = agree(whole, feeds).manifest
    tensors = {each.name: each for each in manifest.tensors}
    _, loop = manifest.functions
    moves = [each for each in loop.instructions if isinstance(each, MoveRow)]
    assert [tensors[each.target].shape for each in moves] == [(65, 1, 4)]
    run = [manifest.steps[each.step] for each in loop.instructions if isinstance(each, RunStep)]
    written = [tensors[name].shape for step in run for name in step.outputs]
    assert written
    assert all(65 not in shape for shape in written)


@pytest.mark.every(4)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_a_loop_gives_what_unrolled_cells_give(
    operator: str, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the roundings of kernels that read parts of tensors in place, or first copy them."""
    whole, feeds = layer(operator, 12, 2, 3, direction=direction, lengths=True, initial=True)
    unrolled = outputs_of(whole, feeds)
    monkeypatch.setattr(recurrent, "_UNROLLED", 0)
    for name, array in outputs_of(whole, feeds).items():
        np.testing.assert_allclose(array, unrolled[name], rtol=1e-5, atol=1e-6)


def outputs_of(
    whole: ModelProto, feeds: dict[str, np.ndarray[Any, Any]]
) -> Mapping[str, np.ndarray[Any, Any]]:
    artifact = agree(whole, feeds)
    return Executor(artifact, [CpuDevice(1)]).run(feeds).outputs


def test_refusals() -> None:
    whole, _ = layer("RNN", 2, 1, 0, activations=["Swish"])
    with pytest.raises(FrontendError, match="activation 'Swish'"):
        import_model(whole)

"""Training with rounded weights: the model that comes of it, and its scales."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.api.training import rounding_of
from tandem.compiler.errors import QuantisationError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.workbench.errors import ArgumentValueError, TrainingError
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.plan import Plan
from tandem.workbench.training.rounded import RoundedTraining, calibration
from tandem.workbench.training.samples import ArraySamples
from tandem.workbench.training.trainable import trainable
from tandem.workbench.training.trainer import Checkpoints, TrainingOptions

FEATURES, HIDDEN, CLASSES, BATCH = 8, 16, 3, 32
RANDOM = np.random.default_rng(0)
CENTRES = RANDOM.standard_normal((CLASSES, FEATURES)) * 1.5
LABELS = RANDOM.integers(0, CLASSES, 256)
DATA = (CENTRES[LABELS] + RANDOM.standard_normal((256, FEATURES))).astype(np.float32)
TERNARY = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
OPTIONS = TrainingOptions(batch=BATCH, epochs=4, rate=1e-2)


def model() -> ModelProto:
    """Two dense layers with random weights."""
    weights = {
        "inner.weight": RANDOM.standard_normal((HIDDEN, FEATURES)) / np.sqrt(FEATURES),
        "inner.bias": np.zeros(HIDDEN),
        "outer.weight": RANDOM.standard_normal((CLASSES, HIDDEN)) / np.sqrt(HIDDEN),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "inner.weight", "inner.bias"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "outer.weight"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", CLASSES])],
        [numpy_helper.from_array(array.astype("f4"), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_network_of_ternary_weights_that_was_trained() -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    training = RoundedTraining.of(found, found.weights, samples, OPTIONS, TERNARY, samples)
    before = training.trainer.fixed.copy()
    steps = []
    state = training.run(report=lambda state, total: steps.append((state.step, total)))
    assert steps == [(step + 1, 32) for step in range(32)]
    losses = [epoch.held_out for epoch in state.epochs]
    assert losses[-1] is not None
    assert losses[0] is not None
    assert losses[-1] < losses[0]
    scales = training.trainer.fixed
    assert scales.keys() == before.keys()
    assert any(not np.array_equal(scales[name], before[name]) for name in scales)
    trained = training.model
    for tensor in trained.graph.initializer:
        rows = numpy_helper.to_array(tensor)
        if rows.ndim == 2:
            # Ternary codes have four entries, -2 too.
            assert all(len(np.unique(row)) <= 4 for row in rows)
    network = import_model(trained).function
    integers = quantise_network(network, [[DATA]], NativeRunner(), TERNARY)
    logits = evaluate(transform(integers.function, (Fuse(),)), [DATA], NativeRunner())
    right = np.mean(np.argmax(np.asarray(logits), 1) == LABELS)
    _, accuracy = training.trainer.measure(samples)
    assert accuracy is not None
    assert right > 0.9
    assert abs(right - accuracy) < 0.02


def test_the_inputs_of_the_calibration() -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    batches = calibration(found, samples, BATCH)
    np.testing.assert_array_equal(np.concatenate([x for (x,) in batches]), DATA[:128])


def test_fewer_samples_than_a_batch() -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA[:5], "target": LABELS[:5]})
    with pytest.raises(TrainingError, match=r"^5 samples are fewer than a batch of 32$"):
        RoundedTraining.of(found, found.weights, samples, OPTIONS, TERNARY)


def test_formats_that_layers_choose_are_refused() -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    auto = QuantiseOptions(weights=WeightOptions(WeightKind.AUTO))
    with pytest.raises(QuantisationError, match=r"^training with weights in auto: formats"):
        RoundedTraining.of(found, found.weights, samples, OPTIONS, auto)


def test_a_plan_that_rounds_gives_the_rounded_model() -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    few = replace(OPTIONS, epochs=1)
    plan = Plan(found, samples, samples, few, found.weights, {}, TERNARY)
    trained, state, memory = plan.run()
    assert state.step == 8
    assert memory.run.total > 0
    arrays = {each.name: numpy_helper.to_array(each) for each in trained.graph.initializer}
    assert all(len(np.unique(row)) <= 4 for row in arrays["inner.weight"])


# Within an epoch, and at the end of one, whose scales are chosen after the last step.
@pytest.mark.parametrize("last", [3, 8])
def test_resumed_is_equal_to_the_bit(last: int, tmp_path: Path) -> None:
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    few = replace(OPTIONS, epochs=2)
    kept = Checkpoints(tmp_path / "state", seconds=0)

    def new() -> RoundedTraining:
        return RoundedTraining.of(found, found.weights, samples, few, TERNARY)

    def stop(state: State, _: int) -> None:
        if state.step == last:
            raise KeyboardInterrupt

    whole = new()
    whole.run()
    stopped = new()
    with pytest.raises(KeyboardInterrupt):
        stopped.run(kept, {"weights": "ternary"}, stop)
    resumed, steps = new(), list[int]()
    resumed.run(kept, {"weights": "ternary"}, lambda state, _: steps.append(state.step))
    assert steps == [*range(last + 1, 17)]
    for name, array in (*whole.trainer.weights.items(), *whole.trainer.fixed.items()):
        own = {**resumed.trainer.weights, **resumed.trainer.fixed}[name]
        np.testing.assert_array_equal(own, array)
    assert resumed.model == whole.model
    with pytest.raises(TrainingError, match="weights was ternary, and is int4"):
        new().run(kept, {"weights": "int4"})


def test_scales_of_a_state_before_they_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt between the last step of an epoch and the choice of its scales."""
    found = trainable(model(), BATCH)
    samples = ArraySamples({"x": DATA, "target": LABELS})
    few = replace(OPTIONS, epochs=2)
    kept = Checkpoints(tmp_path / "state", seconds=0)
    whole, stopped, resumed = (
        RoundedTraining.of(found, found.weights, samples, few, TERNARY) for _ in range(3)
    )

    def interrupted(_: RoundedTraining) -> None:
        raise KeyboardInterrupt

    whole.run()
    with monkeypatch.context() as patched:
        patched.setattr(RoundedTraining, "choose_scales", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stopped.run(kept)
    assert stopped.trainer.state.step == 8
    resumed.run(kept)
    assert resumed.model == whole.model


def test_formats_by_name() -> None:
    assert rounding_of(None, None) is None
    assert rounding_of("int4", 64) == QuantiseOptions(weights=WeightOptions(WeightKind.INT4, 64))
    with pytest.raises(ArgumentValueError, match=r"weights"):
        rounding_of("auto", None)
    with pytest.raises(TrainingError, match=r"^weights in ternary have no groups with a scale$"):
        rounding_of("ternary", 64)
    with pytest.raises(TrainingError, match=r"^weight_group is for weights in a format$"):
        rounding_of(None, 32)
    with pytest.raises(ArgumentValueError, match=r"groups of 5 weights: 16, 32, 64, 128"):
        rounding_of("int4", 5)

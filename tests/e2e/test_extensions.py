"""Extensions compute the same integer network: outputs are equal in every bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from compiler.models import built_in
from hw.config_files import load_config
from hw.memory_model import DEFAULT_MEMORY
from runtime.inputs import PixelNormalisation, random_inputs
from scripts.bench.resnet18 import qdq_model
from scripts.cli import app
from scripts.model_options import Quantise
from scripts.run.machine import Arrays, Machine, open_model
from scripts.sources import Accelerator, ModelOptions

_MACHINE = Machine("functional", DEFAULT_MEMORY, threads=1)


def outputs(model: str, quantise: Quantise | None, preset: str) -> Arrays:
    options = ModelOptions(quantise, None, PixelNormalisation.IMAGENET, 0)
    opened = open_model(model, options, None)
    network = opened.network(Accelerator(load_config(preset), DEFAULT_MEMORY, True), None)
    assert network.artifact.streams
    (run,) = _MACHINE.run(network.artifact, [random_inputs(opened.inputs, seed=3)])
    return run.outputs


def check(model: str, quantise: Quantise | None, preset: str) -> None:
    wanted = outputs(model, quantise, preset)
    found = outputs(model, quantise, f"{preset}-x")
    assert wanted.keys() == found.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize(
    ("preset", "quantise"),
    [
        ("tiny", Quantise.MULTIPLIER),
        pytest.param("small8", Quantise.POW2, marks=pytest.mark.exhaustive),
        pytest.param("tiny", Quantise.POW2, marks=pytest.mark.exhaustive),
        pytest.param("small8", Quantise.MULTIPLIER, marks=pytest.mark.exhaustive),
    ],
)
def test_digits(preset: str, quantise: Quantise) -> None:
    check("digits", quantise, preset)


def test_an_artifact_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "digits.tandem"
    for arguments in (["compile", "digits", "--config", "small8-x", "-o"], ["run"]):
        result = CliRunner().invoke(app, [*arguments, str(path)])
        assert result.exit_code == 0, result.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("quantise", [Quantise.MULTIPLIER, Quantise.POW2])
@pytest.mark.parametrize("preset", ["pynq", "ultra96"])
@pytest.mark.parametrize("model", ["digits", "resnet18", "resnet34", "resnet50"])
def test_networks(model: str, preset: str, quantise: Quantise) -> None:
    check(model, quantise, preset)


@pytest.mark.exhaustive
@pytest.mark.parametrize("preset", ["pynq", "small8"])
@pytest.mark.parametrize("model", ["digits", "resnet18", "resnet34", "resnet50"])
def test_models_that_state_their_scales(model: str, preset: str, tmp_path: Path) -> None:
    """QDQ models of ONNX Runtime's quantiser."""
    path = tmp_path / "model.onnx"
    onnx.save(qdq_model(built_in(model)), path)
    check(str(path), None, preset)

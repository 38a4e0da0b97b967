"""Extensions compute the same integer network: outputs are equal in every bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tandem.compiler.models import built_in
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import streams_of
from tandem.runtime.inputs import random_inputs
from tandem.scripts.bench.qdq import qdq_model
from tandem.scripts.bench.resnet18 import noise
from tandem.scripts.cli import app
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions
from tandem.workbench.networks import Arrays
from tandem.workbench.opened import open_model
from tandem.workbench.platform import Platform

_MACHINE = Platform("functional", DEFAULT_MEMORY, threads=1)


def outputs(model: str, quantise: Mode | None, preset: str) -> Arrays:
    options = ModelOptions(quantise)
    opened = open_model(model, options, None)
    network = opened.network(Accelerator(load_config(preset), DEFAULT_MEMORY, True), None)
    assert streams_of(network.artifact)
    (run,) = _MACHINE.run(network.artifact, [random_inputs(opened.inputs, seed=3)])
    return run.outputs


def check(model: str, quantise: Mode | None, preset: str) -> None:
    wanted = outputs(model, quantise, preset)
    found = outputs(model, quantise, f"{preset}-x")
    assert wanted.keys() == found.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize(
    ("preset", "quantise"),
    [
        ("tiny", Mode.MULTIPLIER),
        pytest.param("small8", Mode.POW2, marks=pytest.mark.exhaustive),
        pytest.param("tiny", Mode.POW2, marks=pytest.mark.exhaustive),
        pytest.param("small8", Mode.MULTIPLIER, marks=pytest.mark.exhaustive),
    ],
)
def test_digits(preset: str, quantise: Mode | None) -> None:
    check("digits", quantise, preset)


def test_an_artifact_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "digits.tandem"
    for arguments in (["compile", "digits", "--config", "small8-x", "-o"], ["run"]):
        result = CliRunner().invoke(app, [*arguments, str(path)])
        assert result.exit_code == 0, result.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("quantise", [Mode.MULTIPLIER, Mode.POW2])
@pytest.mark.parametrize("preset", ["pynq", "ultra96"])
@pytest.mark.parametrize("model", ["digits", "resnet18", "resnet34", "resnet50"])
def test_networks(model: str, preset: str, quantise: Mode | None) -> None:
    check(model, quantise, preset)


@pytest.mark.exhaustive
@pytest.mark.parametrize("preset", ["pynq", "small8"])
@pytest.mark.parametrize("model", ["digits", "resnet18", "resnet34", "resnet50"])
def test_models_that_state_their_scales(model: str, preset: str, tmp_path: Path) -> None:
    """QDQ models of ONNX Runtime's quantiser."""
    path = tmp_path / "model.onnx"
    onnx.save(qdq_model(built_in(model), noise(built_in(model))), path)
    check(str(path), Mode.MULTIPLIER, preset)

"""Layers that join others are found by the names of all of them: `tandem run --why`,
`tandem tune --explain`, `Run.why`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tandem
from tandem.scripts.cli import app
from tests.support.compiler.models.models import pooled_convolution

MACHINE = ("--config", "pynq-x", "--memory", "edge")
NAMES = ("pooled", "conv", "active")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pooled_convolution(tmp_path_factory.mktemp("model") / "net.onnx")


def told(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_why_it_takes_its_cycles(model: Path) -> None:
    found = []
    for name in NAMES:
        code, printed, errors = told("run", model, *MACHINE, "--why", name, "--json")
        assert code == 0, errors
        found.append(json.loads(printed)["why"])
    assert found[0]["layer"] == "pooled"
    assert found[1:] == found[:1] * 2


def test_what_is_beside_its_choice(model: Path) -> None:
    found = []
    for name in NAMES:
        code, printed, errors = told("tune", model, *MACHINE, "--explain", name, "--json")
        assert code == 0, errors
        found.append(json.loads(printed))
    assert found[0]["layer"] == "pooled"
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("command", [("run", "--why"), ("tune", "--explain")])
def test_of_other_names_the_layers_own_is_told(model: Path, command: tuple[str, str]) -> None:
    code, _, errors = told(command[0], model, *MACHINE, command[1], "image")
    assert code == 1
    assert errors.endswith("no layer of the accelerator is called 'image': there are pooled\n")


def test_from_python_and_from_a_file(model: Path, tmp_path: Path) -> None:
    image = np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)
    artifact = tandem.compile(model, "pynq-x", memory="edge", calibrate=image)
    artifact.save(tmp_path / "net.tandem")
    for network in (artifact, tandem.Artifact.load(tmp_path / "net.tandem")):
        run = tandem.Session(network, memory="edge").run(image)
        assert [run.why(name).layer for name in NAMES] == ["pooled"] * 3

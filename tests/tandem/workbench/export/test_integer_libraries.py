"""Libraries that take and give integers, with an accelerator and without."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import tandem
from tandem.runtime.artifact import config_of
from tandem.scripts.cli import app
from tandem.sim.driven.drive import drive
from tandem.workbench.export.hosted import HostedLibrary
from tests.support.compiler.models.digits import digits
from tests.support.workbench.cross import make


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_equal_to_real_numbers() -> None:
    """What is given out is what real numbers are made of, bit by bit."""
    whole = digits("small8-x")
    integers = digits("small8-x", io="int8")
    tensors = {each.name: each for each in integers.network.artifact.manifest.tensors}
    scale = tensors["input"].scale
    assert scale is not None
    (result,) = integers.network.artifact.manifest.results
    steps = tensors[result.tensor].axis_scale
    assert steps is not None
    inputs = whole.noise(5)["input"].astype(np.float32)
    given = np.clip(np.rint(inputs / np.float32(scale.step)) + scale.zero, -128, 127)
    found = tandem.Session(integers, engine="functional").run(given.astype(np.int8))["output"]
    wanted = tandem.Session(whole, engine="functional").run(inputs)["output"]
    zeros, factors = np.array(steps.zeros, np.int32), np.array(steps.steps, np.float32)
    assert np.array_equal((found - zeros).astype(np.float32) * factors, wanted)


def test_with_an_accelerator(tmp_path: Path) -> None:
    artifact = digits("tiny", io="int8")
    exported = artifact.export(tmp_path)
    config = config_of(artifact.network.artifact)
    assert config is not None
    library = HostedLibrary(exported, drive("functional", config, np.zeros(1 << 18, np.uint8)))
    inputs = artifact.noise(2)
    assert inputs["input"].dtype == np.int8
    wanted = tandem.Session(artifact, engine="functional").run(inputs)
    found = library.run(inputs)["output"]
    assert found.dtype == np.int32
    assert np.array_equal(found, wanted["output"])
    header = (tmp_path / "digits.h").read_text()
    assert "const int8_t *input; /* int8[1, 1, 8, 8], real = (integer - 0) * 0.02" in header
    assert "#define DIGITS_INPUT_STEP 0.02" in header


def test_without(tmp_path: Path) -> None:
    result = export("digits", "-o", tmp_path / "d", "--io", "int8", "--json")
    assert result.exit_code == 0, result.stderr
    tensors = json.loads(result.stdout)["tensors"]
    assert [each["dtype"] for each in tensors] == ["int8", "int32"]
    assert make(tmp_path / "d", "check") == "as expected\n"


def test_an_input_of_integers(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((1, 1, 8, 8), 7, np.int8))
    folder = tmp_path / "d"
    result = export("digits", "-o", folder, "--io", "int8", "--input", tmp_path / "x.npy")
    assert result.exit_code == 0, result.stderr
    assert (folder / "check.bin").read_bytes()[:64] == bytes([7]) * 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["digits", "--quantize", "none", "--io", "int8"],
            "--io int8 is for --quantize pow2 and multiplier, not for none",
        ),
        (["bert-tiny", "--io", "int8"], "no port can be an integer: "),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = export(*arguments, "-o", tmp_path / "d")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "d").exists()


def test_refusals_from_python(tmp_path: Path) -> None:
    with pytest.raises(tandem.Error, match="io='int8' is for quantize="):
        tandem.compile("digits", "tiny", quantize=None, io="int8")
    with pytest.raises(tandem.Error, match="io"):
        tandem.compile("digits", "tiny", io="int4")
    path = tmp_path / "d.tandem"
    digits("tiny").save(path)
    result = export(path, "-o", tmp_path / "d", "--io", "int8")
    assert result.exit_code == 1
    assert "--io is for models" in result.stderr

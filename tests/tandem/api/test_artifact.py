"""Artifacts: saved, loaded, explained."""

from __future__ import annotations

from pathlib import Path

import pytest

import tandem
from tandem.runtime.errors import ArtifactError
from tandem.workbench.errors import ArgumentTypeError


def test_saved_and_loaded(artifact: tandem.Artifact, tmp_path: Path) -> None:
    artifact.save(str(tmp_path / "net.tandem"))
    loaded = tandem.Artifact.load(tmp_path / "net.tandem")
    assert repr(loaded) == repr(artifact)
    runs = [tandem.Session(one).run(one.noise(5)) for one in (artifact, loaded, loaded.on_cpu())]
    assert runs[0].cycles == runs[1].cycles
    assert runs[2].cycles is None
    assert (runs[0]["out:0"] == runs[1]["out:0"]).all()
    assert (runs[0]["out:0"] == runs[2]["out:0"]).all()


def test_every_operator_has_a_device_or_a_reason(artifact: tandem.Artifact) -> None:
    steps = artifact.explain()
    on_accelerator = [row for row in steps if row["device"] == "accelerator"]
    assert [row["reason"] for row in on_accelerator] == [None] * len(on_accelerator)
    assert any("conv2d" in str(row["operators"]) for row in on_accelerator)
    assert all(row["reason"] for row in steps if row["device"] == "cpu")
    # 6 channels of 3 x 3 x 3 products at 8 x 8 places
    assert steps["macs"].sum() == 6 * 27 * 64


def test_ports(artifact: tandem.Artifact) -> None:
    assert artifact.inputs[0] == {"name": "image", "dtype": "float32", "shape": "[1, 3, 8, 8]"}
    assert artifact.outputs[0] == {"name": "out:0", "dtype": "float32", "shape": "[1, 6]"}
    assert (artifact.name, artifact.machine) == ("net.onnx", "tiny")


def test_noise_is_seeded(artifact: tandem.Artifact) -> None:
    assert (artifact.noise(1)["image"] == artifact.noise(1)["image"]).all()
    assert (artifact.noise(1)["image"] != artifact.noise(2)["image"]).any()


def test_refusals(tmp_path: Path, artifact: tandem.Artifact) -> None:
    with pytest.raises(ArtifactError, match="No such file"):
        tandem.Artifact.load(tmp_path / "no.tandem")
    with pytest.raises(ArtifactError, match="No such file"):
        artifact.save(tmp_path / "no" / "net.tandem")
    with pytest.raises(ArgumentTypeError, match="path is 3: it must be a path"):
        tandem.Artifact.load(3)  # type: ignore[arg-type]

"""Launches beside a library whose code is for another processor."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import numpy_helper

import tandem
from tandem.hw.memory_model import parse_memory
from tandem.workbench.export.library import Exported
from tests.support.compiler.models.models import convolution

pytestmark = pytest.mark.filterwarnings("ignore:.* is calibrated with noise")
LAUNCHES = {"net_launches.json", "net_launches.bin"}


def compiled(folder: Path, processor: str, sign: int = 1) -> tandem.Artifact:
    """A convolution, whose weights have a sign."""
    path = convolution(folder / "net.onnx")
    model = onnx.load(path)
    (weights,) = (each for each in model.graph.initializer if each.name == "w")
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) * sign, "w"))
    onnx.save(model, path)
    return tandem.compile(path, "tiny-x", processor=tandem.Cpu(processor))


@pytest.mark.parametrize("processor", ["cortex-a72", "rv32imc"])
def test_the_streams_run_beside_this_processor(processor: str, tmp_path: Path) -> None:
    """With vectors or without: the processor decides who packs the windows."""
    artifact = compiled(tmp_path, processor)
    exported = artifact.export(tmp_path / "out", name="net")
    assert {*exported.files} >= LAUNCHES


@pytest.mark.parametrize("processor", ["cortex-a72", "rv32imc"])
def test_another_model_s_streams_are_not_taken_for_them(processor: str, tmp_path: Path) -> None:
    """They have the same names: what tells them apart is their bytes."""
    artifact = compiled(tmp_path, processor)
    other = compiled(tmp_path, processor, -1)
    mixed = tandem.Artifact(replace(artifact.network, prepared=other.network.prepared))
    exported = mixed.export(tmp_path / "out", name="net")
    assert not {*exported.files} & LAUNCHES


def launches(exported: Exported) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((exported.folder / "net_launches.json").read_text())
    return found


def test_cycles_are_for_the_memory_of_the_device(tmp_path: Path) -> None:
    """Of an artifact from a file, which says nothing of a memory, for that by default."""
    path = convolution(tmp_path / "net.onnx")
    cycles = {}
    for memory in ("edge", "fast"):
        artifact = tandem.compile(path, "tiny-x", memory=memory)
        found = launches(artifact.export(tmp_path / memory, name="net"))
        assert found["memory"] == parse_memory(memory).text
        cycles[memory] = [launch["cycles"] for launch in found["launches"]]
    assert cycles["edge"] > cycles["fast"] > [0]
    artifact.save(tmp_path / "net.tandem")
    loaded = tandem.Artifact.load(tmp_path / "net.tandem")
    found = launches(loaded.export(tmp_path / "loaded", name="net"))
    assert found["memory"] == parse_memory("fast").text
    assert [launch["cycles"] for launch in found["launches"]] == cycles["fast"]

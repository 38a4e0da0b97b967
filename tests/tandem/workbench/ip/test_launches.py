"""Launches of an exported network: with the file of the stream, all that a testbench needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tandem
from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tests.support.compiler.models.models import convolution
from tests.support.sim.streams import memory_of

pytestmark = pytest.mark.filterwarnings("ignore:.* is calibrated with noise")
CONFIG = load_config("tiny-x")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exported")
    artifact = tandem.compile(convolution(made / "net.onnx"), CONFIG.name)
    artifact.export(made / "net_c", name="net")
    return made / "net_c"


def listing_of(folder: Path, name: str = "net") -> tuple[dict[str, Any], bytes]:
    listing = json.loads((folder / f"{name}_launches.json").read_text())
    return listing, (folder / listing["data"]).read_bytes()


def replay(folder: Path) -> None:
    """Assert that the engine `cycle` makes the same outputs of the listed inputs."""
    listing, data = listing_of(folder)
    assert (listing["network"], listing["config"]) == ("net", CONFIG.name)
    values = np.frombuffer(data, np.uint8)
    assert listing["launches"]
    memories: dict[str, Any] = {}
    engine = make_engine("cycle", CONFIG)
    try:
        for launch in listing["launches"]:
            name = launch["stream"]
            if name not in memories:
                memories[name] = memory_of((folder / name).read_bytes())
            memory, begin, _ = memories[name]
            for tensor in launch["inputs"]:
                part = values[tensor["offset"] :][: tensor["bytes"]]
                memory[tensor["address"] :][: tensor["bytes"]] = part
            program = Program.from_bytes(CONFIG, memory[begin:].tobytes())
            engine.launch(program, memory, Launch(address=begin))
            for tensor in launch["outputs"]:
                part = values[tensor["offset"] :][: tensor["bytes"]]
                assert part.any()
                assert (memory[tensor["address"] :][: tensor["bytes"]] == part).all()
    finally:
        engine.close()


def test_another_engine_makes_the_same_of_them(folder: Path) -> None:
    replay(folder)


def test_tensors_fit_their_shapes_and_the_data_has_no_holes(folder: Path) -> None:
    listing, data = listing_of(folder)
    end = 0
    for launch in listing["launches"]:
        for tensor in (*launch["inputs"], *launch["outputs"]):
            size = np.prod(tensor["shape"]) * np.dtype(tensor["dtype"]).itemsize
            assert (tensor["offset"], tensor["bytes"]) == (end, size)
            end += size
            for axis in tensor["extents"]:
                blocks, block = (tensor["shape"][axis[which]] for which in ("outer", "inner"))
                assert (blocks - 1) * block < axis["extent"] < blocks * block
    assert end == len(data)


def test_another_processor_has_the_same_launches(folder: Path, tmp_path: Path) -> None:
    model = folder.parent / "net.onnx"
    artifact = tandem.compile(model, CONFIG.name, processor=tandem.Cpu("cortex-a72"))
    artifact.export(tmp_path / "net_a72", name="net")
    assert listing_of(tmp_path / "net_a72") == listing_of(folder)


def test_small_processors_have_launches_of_their_own(folder: Path, tmp_path: Path) -> None:
    """They pack no windows: the array reads the image as it is."""
    model = folder.parent / "net.onnx"
    artifact = tandem.compile(model, CONFIG.name, processor=tandem.Cpu("rv32imc"))
    artifact.export(tmp_path / "net_rv", name="net")
    replay(tmp_path / "net_rv")
    assert listing_of(tmp_path / "net_rv") != listing_of(folder)


def test_they_belong_to_the_exported_files(folder: Path, tmp_path: Path) -> None:
    artifact = tandem.compile(folder.parent / "net.onnx", CONFIG.name)
    exported = artifact.export(tmp_path / "again", name="other")
    names = {*exported.files}
    assert {"other_launches.json", "other_launches.bin"} <= names
    listing, _ = listing_of(tmp_path / "again", "other")
    assert {launch["stream"] for launch in listing["launches"]} <= names


def test_a_library_for_the_processor_alone_has_none(folder: Path, tmp_path: Path) -> None:
    artifact = tandem.compile(folder.parent / "net.onnx", tandem.Cpu())
    artifact.export(tmp_path / "cpu")
    assert not [*(tmp_path / "cpu").glob("*launches*")]

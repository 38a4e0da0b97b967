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
from tandem.hw.memory_model import DEFAULT_MEMORY, parse_memory
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


def replay(folder: Path) -> list[int | None]:
    """Assert that the engine `cycle` makes the same outputs of the listed inputs; its cycles."""
    cycles = []
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
            cycles.append(engine.launch(program, memory, Launch(address=begin)).cycles)
            for tensor in launch["outputs"]:
                part = values[tensor["offset"] :][: tensor["bytes"]]
                assert part.any()
                assert (memory[tensor["address"] :][: tensor["bytes"]] == part).all()
    finally:
        engine.close()
    return cycles


def test_another_engine_makes_the_same_of_them(folder: Path) -> None:
    replay(folder)


def test_windows_are_described(folder: Path) -> None:
    """Enough to pack them anew; and the scale of the launch's input is there."""
    listing, data = listing_of(folder)
    (tensor,) = listing["launches"][0]["inputs"]
    windows, (padded,) = tensor["windows"], tensor["extents"]
    assert tensor["name"] in {scale["name"] for scale in listing["scales"]}
    shape = tensor["shape"]
    found = np.frombuffer(data, np.int8)[tensor["offset"] :][: tensor["bytes"]].reshape(shape)
    # Channels in order; n is 1.
    taps = found[0, :, :, :, 0, :].transpose(0, 3, 1, 2).reshape(-1, *shape[2:4])
    taps = taps[: padded["extent"]]
    rows, columns = windows["kernel"]
    (top, left, bottom, right), (down, across) = windows["pads"], windows["dilations"]
    assert (windows["strides"], top, left, down, across) == ([1, 1], 1, 1, 1, 1)
    # The pixel in the middle of every window is the image itself.
    image = taps.reshape(-1, rows, columns, *shape[2:4])[:, top, left]
    assert image.any()
    around = np.pad(image, ((0, 0), (top, bottom), (left, right)))
    for row in range(rows):
        for column in range(columns):
            part = around[:, row:, column:][:, : shape[2], : shape[3]]
            assert (taps.reshape(-1, rows, columns, *shape[2:4])[:, row, column] == part).all()


def test_cycles_are_those_of_the_memory(folder: Path) -> None:
    listing, _ = listing_of(folder)
    assert replay(folder) == [launch["cycles"] for launch in listing["launches"]]
    assert parse_memory(listing["memory"]) == DEFAULT_MEMORY


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
    listing, _ = listing_of(tmp_path / "net_rv", "net")
    (tensor,) = listing["launches"][0]["inputs"]
    assert tensor["name"] in {scale["name"] for scale in listing["scales"]}
    assert "windows" not in tensor
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

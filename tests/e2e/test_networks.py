"""Whole networks, from the command line to the cycles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import config_of, read_artifact
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor
from tandem.scripts.cli import app
from tandem.sim.engines import make_engine
from tests.support.compiler.frontends.onnx_models import light_model, model
from tests.support.digest_cases import LIGHT_MODELS

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
MODELS = Path(__file__).parents[2] / "compiler" / "models"


def run(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(app, ["run", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def checked(*arguments: object) -> dict[str, object]:
    """A run that is equal to the CPU's."""
    written = run(*arguments, "--check")
    check = written["check"]
    assert isinstance(check, dict)
    assert check["equal"] is True
    return written


def layers(written: dict[str, object]) -> list[dict[str, object]]:
    found = written["layers"]
    assert isinstance(found, list)
    return found


def test_digits_on_the_rtl() -> None:
    written = checked("digits", "--engine", "rtl")
    operators = {str(each["op"]) for each in layers(written) if each["device"] == "cpu"}
    assert operators <= {"quantise", "pack_windows", "convert+dequantise"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", ["small8", "batch2", "ultra96", "tall.json"])
def test_digits_on_other_machines(config: str, tmp_path: Path) -> None:
    """Another size of the array; batches of two, of which one has no data; a bus of 128 bits;
    smaller buffers."""
    path: object = config
    if config == "tall.json":
        path = tmp_path / config
        (tmp_path / config).write_text(
            json.dumps({"name": "less", "log_inp_buffer": 13, "log_wgt_buffer": 16})
        )
    checked("digits", "--engine", "rtl", "--config", path)


@pytest.mark.parametrize("config", ["block4", pytest.param("tiny", marks=pytest.mark.exhaustive)])
def test_channels_that_do_not_fill_a_block(config: str, tmp_path: Path) -> None:
    """The CPU reads next, and ignores the channels that are not there."""
    weight = np.random.default_rng(0).normal(size=(5, 4, 3, 3)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        onnx.helper.make_node("Softplus", ["c"], ["y"]),
    ]
    path = tmp_path / "five.onnx"
    onnx.save(model(nodes, {"x": (1, 4, 6, 6)}, ["y"], {"w": weight}), path)
    for engine in ("functional", "cycle"):
        written = checked(path, "--config", config, "--engine", engine)
        assert any(each["macs"] for each in layers(written) if each["device"] == "accelerator")


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ["functional", "cycle"])
def test_resnet18_in_batches_of_two(engine: str, tmp_path: Path) -> None:
    """Also from an artifact, which has its own fallback."""
    checked("resnet18", "--config", "batch2", "--engine", engine)
    path = tmp_path / "resnet18"
    arguments = ["compile", "resnet18", "--config", "batch2", "-o", str(path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    checked(path, "--engine", engine)


@pytest.mark.exhaustive
def test_a_network_beyond_the_address_space(tmp_path: Path) -> None:
    path = tmp_path / "near.json"
    path.write_text(json.dumps({"name": "near", "address_bits": 16}))
    result = CliRunner().invoke(app, ["run", "digits", "--config", str(path)])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "addresses of 16 bits, which reach 65,536 bytes; the stream needs" in result.stderr


def chain(path: Path, operators: list[str], length: int) -> Path:
    """Write a model of element-wise operators in a row after a convolution."""
    weight = np.random.default_rng(0).normal(size=(4, 4, 1, 1)).astype(np.float32)
    nodes = [onnx.helper.make_node("Conv", ["x", "w"], ["v0"])]
    for number in range(length):
        operator = operators[number % len(operators)]
        nodes.append(onnx.helper.make_node(operator, [f"v{number}"], [f"v{number + 1}"]))
    onnx.save(model(nodes, {"x": (1, 4, 4, 4)}, [f"v{length}"], {"w": weight}), path)
    return path


@pytest.mark.exhaustive
@pytest.mark.parametrize("operators", [["Relu", "Neg"], ["Sigmoid", "Tanh"]], ids=" ".join)
@pytest.mark.parametrize("length", [400, 3000, 20_000])
def test_depth(operators: list[str], length: int, tmp_path: Path) -> None:
    """Many times more operators in a row than Python's stack has frames: on the accelerator, on the
    CPU, and in float32."""
    path = chain(tmp_path / "deep.onnx", operators, length)
    checked(path, "--config", "tiny")
    run(path, "--device", "cpu")
    run(path, "--device", "cpu", "--quantize", "none")


@pytest.mark.exhaustive
def test_resnet18_on_the_rtl() -> None:
    written = checked("resnet18", "--engine", "rtl")
    cycles = written["cycles"]
    assert isinstance(cycles, int)
    assert cycles <= 9_300_000
    macs = [each["macs"] for each in layers(written) if each["device"] == "cpu"]
    assert not any(macs), "no arithmetic is left to the CPU"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("network", "options"),
    [
        ("resnet18", ["--quantize", "pow2"]),
        ("resnet34", ["--engine", "rtl"]),
        ("resnet50", []),
    ],
)
def test_other_residual_networks(network: str, options: list[str]) -> None:
    checked(network, *options)


@pytest.mark.exhaustive
def test_what_pytorch_exports() -> None:
    """`bottlenecks.onnx`: PyTorch 2.15's exporter, of a net of bottlenecks with 20, 36, 48 and 72
    channels, images of 64 x 64, 37 classes, weights of chance."""
    written = checked(GOLDEN / "bottlenecks.onnx", "--engine", "rtl")
    assert not any(each["macs"] for each in layers(written) if each["device"] == "cpu")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_light_models(name: str, tmp_path: Path) -> None:
    """Of the onnx package, with weights of chance: nobody here made them."""
    path = tmp_path / f"{name}.onnx"
    onnx.save(light_model(name), path)
    written = checked(path)
    assert any(each["macs"] for each in layers(written) if each["device"] == "accelerator")


@pytest.mark.exhaustive
def test_every_digit(tmp_path: Path) -> None:
    """All held-out images on `functional`, ten on `rtl`: bit by bit what the CPU says."""
    artifacts = {}
    for device in ("accelerator", "cpu"):
        path = tmp_path / device
        arguments = ["compile", "digits", "-o", str(path), "--device", device]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        artifacts[device] = read_artifact(path)
    images = np.load(MODELS / "digits.npz")["images"].astype(np.float32) / 16
    cpu = Executor(artifacts["cpu"], [CpuDevice(1)])
    (name,) = (each.name for each in cpu.inputs)
    config = config_of(artifacts["accelerator"])
    assert config is not None
    for engine, some in (("functional", images), ("rtl", images[:10])):
        machine = make_engine(engine, config, parse_memory("fast"))
        executor = Executor(artifacts["accelerator"], [AcceleratorDevice(machine), CpuDevice(1)])
        for image in some:
            given = {name: image[None]}
            (wanted,) = cpu.run(given).outputs.values()
            (found,) = executor.run(given).outputs.values()
            np.testing.assert_array_equal(found, wanted)
        machine.close()

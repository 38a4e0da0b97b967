"""Outputs that are inputs, by whatever name, are refused by every command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tandem.scripts.errors import CommandError
from tandem.scripts.outputs import check_outputs
from tests.support.compiler.models.models import convolution


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(message: str, *arguments: object) -> None:
    result = tandem(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file for each kind of input."""
    monkeypatch.chdir(tmp_path)
    convolution(tmp_path / "net.onnx")
    (tmp_path / "program.bin").write_bytes(bytes([3]) + bytes(15))
    (tmp_path / "image.bin").write_bytes(bytes(64))
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "space.json").write_text('{"fields": {"bus_bits": [64]}}')
    np.savez(tmp_path / "x.npz", image=np.zeros((1, 3, 8, 8), np.float32))
    for name in ("net.onnx", "image.bin", "config.json"):
        (tmp_path / f"hard-{name}").hardlink_to(tmp_path / name)
        (tmp_path / f"soft-{name}").symlink_to(tmp_path / name)
    # With the suffixes that pages and pictures need.
    for suffix in ("html", "svg", "json"):
        (tmp_path / f"net.{suffix}").symlink_to(tmp_path / "net.onnx")
    return tmp_path


SIM = ("sim", "program.bin", "--image", "image.bin")


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "net.onnx", "-o", "net.onnx"),
        ("compile", "net.onnx", "-o", "./hard-net.onnx"),
        ("compile", "soft-net.onnx", "-o", "net.onnx"),
        ("compile", "net.onnx", "--config", "config.json", "-o", "config.json"),
        ("compile", "net.onnx", "--records", "image.bin", "-o", "hard-image.bin"),
        ("run", "net.onnx", "--input", "x.npz", "--output", "x.npz"),
        ("run", "net.onnx", "--calibrate", ".", "--output", "x.npz"),
        ("run", "net.onnx", "--report", "net.html"),
        ("run", "net.onnx", "--trace", "net.json"),
        (*SIM, "-o", "image.bin"),
        (*SIM, "-o", "program.bin"),
        (*SIM, "-o", "soft-image.bin"),
        (*SIM, "--config", "hard-config.json", "--trace", "config.json"),
        ("rtl", "--config", "hard-config.json", "-o", "."),
        ("utilization", "net.onnx", "--plot", "net.svg"),
        ("tune", "net.onnx", "--records", "net.onnx"),
        ("tune", "net.onnx", "--report", "net.html"),
        ("search", "net.onnx", "--report", "net.html"),
        ("search", "net.onnx", "--plot", "net.svg"),
    ],
    ids=" ".join,
)
def test_refused(arguments: tuple[str, ...], folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused("would replace the input", *arguments)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_machines_that_are_searched_are_not_exported_over_inputs(folder: Path) -> None:
    (folder / "out" / "01").mkdir(parents=True)
    (folder / "out" / "01" / "config.json").write_text("{}")
    arguments = ("search", "net.onnx", "--config", "out/01/config.json", "--export")
    refused("out: --export would replace the input out/01/config.json", *arguments, "out")
    refused("net.onnx: Not a directory", *arguments, "net.onnx")


def test_a_model_that_keeps_its_weights_elsewhere(folder: Path) -> None:
    model = onnx.load("net.onnx")
    onnx.save(model, "far.onnx", save_as_external_data=True, location="w.npz", size_threshold=0)
    refused("would replace the input w.npz; --force", "run", "far.onnx", "--output", "w.npz")
    result = tandem("run", "far.onnx", "--output", "y.npz", "--quantize", "none")
    assert result.exit_code == 0, result.stderr


def test_force(folder: Path) -> None:
    result = tandem(*SIM, "-o", "image.bin", "--force", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["engine"] == "cycle"
    # The other name of the file is left.
    assert not os.path.samefile("image.bin", "hard-image.bin")


def test_a_used_output_is_no_input(folder: Path) -> None:
    for _ in range(2):
        assert tandem(*SIM, "-o", "after.bin").exit_code == 0
    check_outputs({"--output": Path("/dev/null"), "--trace": Path("/dev/null")}, ())


def test_two_outputs_in_one_file(folder: Path) -> None:
    refused(
        "t.json: --output and --trace write the same", *SIM, "-o", "t.json", "--trace", "t.json"
    )
    Path("link").symlink_to("t.json")
    with pytest.raises(CommandError, match=r"link: a and b write the same file"):
        check_outputs({"a": Path("t.json"), "b": Path("link")}, ())


@pytest.mark.parametrize(
    "arguments",
    [
        ("rtl", "-o", ""),
        ("rtl", "--output="),
        ("compile", "net.onnx", "-o", ""),
        ("run", ""),
        (*SIM, "--config", ""),
    ],
)
def test_empty_arguments(arguments: tuple[str, ...], folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = tandem(*arguments)
    assert result.exit_code == 2
    assert "the value of an option, is empty" in " ".join(result.stderr.replace("│", " ").split())
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "/dev/zero"),
        ("run", "net.onnx", "--config", "/dev/zero"),
        ("run", "net.onnx", "--input", "zero.npz"),
        ("run", "net.onnx", "--input", "zero.png"),
        ("run", "net.onnx", "--calibrate", "zero.npy"),
        ("run", "net.onnx", "--config", "tiny", "--records", "/dev/zero"),
        ("run", "pipe"),
        ("compile", "/dev/zero", "-o", "out"),
        (*SIM[:2], "--image", "/dev/zero"),
        (*SIM[:1], "/dev/zero", *SIM[2:]),
        ("disasm", "/dev/zero"),
        ("disasm", "program.bin", "--json", "--verify", "--image", "/dev/zero"),
        ("rtl", "--config", "/dev/zero", "-o", "out"),
        ("utilization", "/dev/zero"),
        ("utilization", "--config", "pipe"),
        ("tune", "/dev/zero"),
        ("tune", "net.onnx", "--records", "/dev/zero"),
        ("tune", "net.onnx", "--transfer", "/dev/zero"),
        ("search", "net.onnx", "--space", "/dev/zero"),
    ],
    ids=" ".join,
)
def test_devices_and_pipes_are_not_read(arguments: tuple[str, ...], folder: Path) -> None:
    os.mkfifo("pipe")
    for suffix in ("npy", "npz", "png"):
        Path(f"zero.{suffix}").symlink_to("/dev/zero")
    refused("not a regular file", *arguments)
    assert not Path("out").exists()


def test_arrays_in_any_order(folder: Path) -> None:
    """As input, checked on the CPU, and to calibrate with."""
    image = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    found = []
    for array in (image, np.asfortranarray(image)):
        np.save("image.npy", array)
        paths = ("--input", "image.npy", "--calibrate", "image.npy")
        result = tandem("run", "net.onnx", "--config", "tiny", "--check", *paths, "--json")
        assert result.exit_code == 0, result.stderr
        answer = json.loads(result.stdout)
        assert answer["check"]["equal"]
        found.append(answer["outputs"])
    assert found[0] == found[1]

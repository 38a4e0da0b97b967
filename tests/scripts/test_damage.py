"""Damaged inputs of the commands: refused in one line, or done; never an internal error."""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import dump_config, load_config
from tandem.runtime.artifact import from_bytes, streams_of
from tandem.scripts.cli import app
from tests.scripts.damage import damaged_artifact, damaged_bytes, damaged_json, damaged_model
from tests.support.compiler.frontends.onnx_models import residual
from tests.support.compiler.models.models import convolution
from tests.support.hw.rtl.rtl import seeds

SPACE = b'{"base": {"log_batch": 1}, "fields": {"bus_bits": [64, 128], "load_buffer, fetch_buffer":\
 [[256, 128], [64, 64]], "features": [[], ["overwrite"]]}, "limits": {"device": null, "area": 1e6}}'
MEMORY = 6 << 30
"""Bytes of addresses beyond those that the process has: a mutated shape may ask for more."""


@pytest.fixture(autouse=True)
def limited_memory() -> Iterator[None]:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def survives(*arguments: object) -> None:
    """The command ends well, or with one line of error."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code in (0, 1)
    if result.exit_code:
        *warnings, error = result.stderr.splitlines()
        assert error.startswith("error: ")
        assert not error.startswith("error: internal error")
        assert all(line.startswith("warning: ") for line in warnings)


@cache
def artifact() -> bytes:
    """A network for `tiny`, with its fallback for the CPU."""
    with TemporaryDirectory() as name:
        model, path = convolution(Path(name) / "net.onnx"), Path(name) / "net.tandem"
        arguments = ["compile", str(model), "-o", str(path), "--config", "tiny"]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        return path.read_bytes()


@cache
def models() -> tuple[onnx.ModelProto, ...]:
    with TemporaryDirectory() as name:
        return onnx.load(convolution(Path(name) / "net.onnx")), residual()


def model(source: random.Random, folder: Path) -> None:
    (folder / "m.onnx").write_bytes(damaged_model(source.choice(models()), source))
    options = [["--quantize", "none"], ["--engine", "functional"], ["--device", "cpu"]]
    survives("run", folder / "m.onnx", "--config", "tiny", *source.choice(options))


def sealed_artifact(source: random.Random, folder: Path) -> None:
    (folder / "a.tandem").write_bytes(damaged_artifact(artifact(), source))
    options = [["--engine", "functional", "--check"], ["--device", "cpu"]]
    survives("run", folder / "a.tandem", *source.choice(options))


def configuration(source: random.Random, folder: Path) -> None:
    preset = source.choice(["pynq", "tiny", "small8-x", "ultra96"])
    text = dump_config(load_config(preset)).encode()
    (folder / "c.json").write_bytes(damaged_json(text, source))
    (folder / "p").write_bytes(bytes([3]) + bytes(15))
    survives("disasm", folder / "p", "--config", folder / "c.json")


def program(source: random.Random, folder: Path) -> None:
    (stream,) = streams_of(from_bytes(artifact())).values()
    changed = bytearray(stream.program)
    for _ in range(source.randint(1, 4)):
        changed[source.randrange(len(changed))] = source.randrange(256)
    if source.random() < 0.1:
        del changed[source.randrange(len(changed)) :]
    (folder / "p").write_bytes(changed)
    (folder / "i").write_bytes(stream.image.tobytes())
    options = [["--engine", "functional"], ["--engine", "cycle"]]
    limits = ("--max-cycles", 100_000)
    files = (folder / "p", "--image", folder / "i", "--config", "tiny")
    survives("sim", *files, *limits, *source.choice(options))
    survives("disasm", *files, "--verify")


def space(source: random.Random, folder: Path) -> None:
    (folder / "s.json").write_bytes(damaged_json(SPACE, source))
    # The model is looked at after the space.
    survives("search", folder / "none.onnx", "--space", folder / "s.json", "--budget", 1)


def array(source: random.Random, folder: Path) -> None:
    image = np.zeros((1, 2, 6, 6), np.float32)
    suffix = source.choice(["npy", "npz"])
    path = folder / f"x.{suffix}"
    np.save(path, image) if suffix == "npy" else np.savez(path, image=image)
    path.write_bytes(damaged_bytes(path.read_bytes(), source))
    (folder / "net.onnx").write_bytes(models()[0].SerializeToString())
    survives("run", folder / "net.onnx", "--input", path, "--quantize", "none")


def record(source: random.Random, folder: Path) -> None:
    line = {
        "tandem": "0.1.0",
        "target": "accelerator",
        "machine": json.loads(dump_config(load_config("tiny"))),
        "memory": "fast",
        "template": "conv2d",
        "workload": {"batch": 1, "parts": [1, [2, None]]},
        "choice": {"x": 1, "y": [1, 2]},
        "status": "measured",
        "cost": 7,
        "explorer": "xgboost",
        "seed": 0,
    }
    lines = [damaged_json(json.dumps(line).encode(), source) for _ in range(3)]
    (folder / "r.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    options = [["tune", "--show"], ["tune", "--show", "--layer", "a=4,4,8,8,3,1,1"]]
    survives(*source.choice(options), "--records", folder / "r.jsonl", "--config", "small8")


KINDS = (model, sealed_artifact, configuration, program, space, array, record)
QUICK, MANY = 3, 800
"""Damaged inputs of a kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_some(kind: Callable[[random.Random, Path], None], tmp_path: Path) -> None:
    for seed in range(QUICK):
        kind(random.Random(seed), tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", KINDS)
def test_many(kind: Callable[[random.Random, Path], None], seed: int, tmp_path: Path) -> None:
    for number in range(MANY):
        print(f"input {number}")
        kind(random.Random(seed * MANY + number), tmp_path)

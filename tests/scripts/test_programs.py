"""Instruction streams of artifacts in `tandem sim` and `tandem disasm`."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tandem.compiler.graph import Var
from tandem.hw.config_files import load_config
from tandem.hw.isa import Program, disassemble
from tandem.runtime.artifact import Artifact, StreamCode, streams_of, write_artifact
from tandem.scripts.cli import app
from tandem.sim.engines import run
from tests.support.compiler.plan.offloaded import both
from tests.support.compiler.plan.quantised_graphs import Net
from tests.support.runtime.artifacts import compiled

SMALL8 = load_config("small8")


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(message: str, *arguments: object) -> None:
    result = tandem(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """Two convolutions, the larger of both by the CPU, and another convolution: two streams."""
    net = Net(seed=5)
    x = net.quantise("x8", Var("x"))
    a, b = net.conv("a", x, (4, 4)), net.conv("b", x, (4, 4), 1, 1, 0)
    y = net.conv("c", net.call("both", "maximum", a, b), (4, 8), 3, 2)
    function = net.function((1, 4, 6, 6), net.logits("out", net.mean("mean", y, 9), 8, 3))
    return both(function, SMALL8)[1]


@pytest.fixture(scope="module")
def several(artifact: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That network as a file."""
    path = tmp_path_factory.mktemp("several") / "net.tandem"
    write_artifact(artifact, path)
    return path


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StreamCode]:
    """A network of one convolution as a file, and its stream."""
    net = Net(seed=6)
    y = net.conv("a", net.quantise("x8", Var("x")), (4, 4))
    artifact = both(net.function((1, 4, 6, 6), y), SMALL8)[1]
    (stream,) = streams_of(artifact).values()
    path = tmp_path_factory.mktemp("single") / "net.tandem"
    write_artifact(artifact, path)
    return path, stream


def after(stream: StreamCode, image: np.ndarray | None = None) -> bytes:
    """What `functional` leaves of a stream's memory."""
    program = Program.from_bytes(SMALL8, stream.program)
    before = stream.image if image is None else image
    return run(SMALL8, program, before, engine="functional")[1][: before.size].tobytes()


def test_the_only_stream_is_disassembled_for_its_machine(single: tuple[Path, StreamCode]) -> None:
    path, stream = single
    result = tandem("disasm", path)
    assert result.exit_code == 0, result.output
    wanted = disassemble(Program.from_bytes(SMALL8, stream.program))
    assert result.stdout.rstrip("\n") == wanted.rstrip("\n")


def test_verify_has_the_micro_ops_of_the_image(single: tuple[Path, StreamCode]) -> None:
    path, _ = single
    result = tandem("disasm", path, "--verify", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["config"] == "small8"
    assert found["verification"]["proved"] is True
    assert found["verification"]["unchecked"] == []


def test_the_only_stream_runs_on_its_image(single: tuple[Path, StreamCode], tmp_path: Path) -> None:
    path, stream = single
    left = tmp_path / "after.img"
    # The artifact's own configuration may be named.
    result = tandem("sim", path, "--config", "small8", "-o", left, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["config"] == "small8"
    assert found["instructions"] == len(stream.program) // 16
    assert found["image_sha256"] == sha256(after(stream)).hexdigest()
    assert left.read_bytes() == after(stream)


def test_another_image_replaces_its_own(single: tuple[Path, StreamCode], tmp_path: Path) -> None:
    path, stream = single
    image = stream.image.copy()
    (tensor,) = stream.inputs
    stream.view(image, tensor)[...] = 3
    (tmp_path / "given.img").write_bytes(image.tobytes())
    result = tandem("sim", path, "--image", tmp_path / "given.img", "--json")
    assert result.exit_code == 0, result.output
    digest = json.loads(result.stdout)["image_sha256"]
    assert digest == sha256(after(stream, image)).hexdigest()
    assert after(stream, image) != after(stream)


def test_of_several_streams_one_is_named(several: Path, artifact: Artifact) -> None:
    names = sorted(streams_of(artifact))
    assert len(names) == 2
    known = ", ".join(names)
    refused(f"with several streams: --stream takes {known}", "disasm", several)
    refused(f"with several streams: --stream takes {known}", "sim", several)
    refused(f"--stream other: the artifact has {known}", "disasm", several, "--stream", "other")
    for name in names:
        result = tandem("disasm", several, "--stream", name)
        wanted = disassemble(Program.from_bytes(SMALL8, streams_of(artifact)[name].program))
        assert result.stdout.rstrip("\n") == wanted.rstrip("\n")


def test_options_that_do_not_fit(single: tuple[Path, StreamCode], tmp_path: Path) -> None:
    path, stream = single
    message = (
        f"--config small8-x: {path} was compiled for small8, which it brings along: "
        "log_par_buffer 13 and not 12, features none and not input_operands+overwrite+requantise"
    )
    refused(message, "sim", path, "--config", "small8-x")
    refused(message, "disasm", path, "--config", "small8-x")
    (tmp_path / "short.img").write_bytes(stream.image.tobytes()[:-1])
    refused(
        f"--image has {stream.image.size - 1:,} bytes: the memory of stream {stream.name} of "
        f"{path} has {stream.image.size:,}",
        *("sim", path, "--image", tmp_path / "short.img"),
    )
    (tmp_path / "raw.bin").write_bytes(stream.program)
    refused("a raw program; --stream is for", "disasm", tmp_path / "raw.bin", "--stream", "a")


def test_an_artifact_for_the_cpu_alone(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    write_artifact(compiled(), path)
    for verb in ("sim", "disasm"):
        refused("an artifact without an instruction stream: it was compiled for", verb, path)


def test_a_damaged_artifact_is_no_truncated_program(
    single: tuple[Path, StreamCode], tmp_path: Path
) -> None:
    content = single[0].read_bytes()
    (tmp_path / "cut.tandem").write_bytes(content[:-1])
    refused("this is no artifact, or it is cut off", "disasm", tmp_path / "cut.tandem")
    refused("this is no artifact, or it is cut off", "sim", tmp_path / "cut.tandem")

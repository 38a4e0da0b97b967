"""Programs and images as arguments."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tandem
from tandem.api.artifact import Artifact
from tandem.api.machines import Machine
from tandem.api.program_arguments import loaded_program
from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError
from tandem.workbench.networks import Network
from tandem.workbench.programs import LoadedProgram
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step, plain_stream

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(TINY, [Finish()])
IMAGE = np.arange(64, dtype=np.uint8)


def loaded(
    program: object, image: object = None, machine: Machine | None = None, stream: str | None = None
) -> LoadedProgram:
    return loaded_program(program, image, machine, stream, "prove")


def artifact() -> Artifact:
    stream = plain_stream("s", TINY, PROGRAM.data)
    steps = [plain_step("s", device="accelerator")]
    return Artifact(Network(plain_artifact([], steps, streams={"s": stream})))


def test_programs(tmp_path: Path) -> None:
    assert loaded(PROGRAM) == LoadedProgram(PROGRAM, None)
    assert loaded(PROGRAM, machine="tiny").program == PROGRAM
    # Bytes and raw files are for the machine that is named, or for pynq.
    assert loaded(PROGRAM.data, machine=TINY).program == PROGRAM
    assert loaded(PROGRAM.data).config == load_config("pynq")
    path = tmp_path / "program.bin"
    path.write_bytes(PROGRAM.data)
    assert loaded(path, machine="tiny").program == PROGRAM
    assert loaded(str(path)).config == load_config("pynq")
    found = loaded(artifact(), stream="s")
    assert found.program == PROGRAM
    assert found.image is not None
    assert found.image.tolist() == IMAGE.tolist()


def test_images(tmp_path: Path) -> None:
    path = tmp_path / "image.bin"
    path.write_bytes(IMAGE.tobytes())
    for image in (IMAGE, IMAGE.tobytes(), path, str(path)):
        found = loaded(PROGRAM, image).image
        assert found is not None
        assert found.tolist() == IMAGE.tolist()


@pytest.mark.parametrize("image", [3, IMAGE.astype(np.int8), IMAGE.reshape(8, 8), [1, 2]], ids=repr)
def test_what_is_no_image(image: object) -> None:
    with pytest.raises(ArgumentTypeError, match="it must be bytes, a flat array of uint8, or a pa"):
        loaded(PROGRAM, image)


def test_what_is_no_program() -> None:
    with pytest.raises(ArgumentTypeError, match="program is 3: it must be a Program, an Artifact"):
        loaded(3)
    with pytest.raises(
        ArgumentTypeError, match=r"machine of prove is .* it must be an accelerator"
    ):
        loaded(PROGRAM, machine=tandem.Cpu())
    for program in (PROGRAM, PROGRAM.data):
        with pytest.raises(ArgumentValueError, match="stream is for an artifact, not for a raw"):
            loaded(program, stream="s")
    message = "machine pynq: the program is for tiny: "
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}"):
        loaded(PROGRAM, machine="pynq")
    with pytest.raises(
        ArgumentValueError, match=r"^machine pynq: plain.onnx was compiled for tiny"
    ):
        loaded(artifact(), machine="pynq")

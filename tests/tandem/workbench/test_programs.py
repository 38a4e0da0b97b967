"""Programs in files and in artifacts: which one is taken, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.hw.isa.instructions import Tokens
from tandem.runtime.artifact import Artifact
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.programs import program_in, read_image, stream_in
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step, plain_stream

TINY, PYNQ = load_config("tiny"), load_config("pynq")
ONE = Program.from_instructions(TINY, [Finish()])
TWO = Program.from_instructions(TINY, [Finish(tokens=Tokens(push_prev=True)), Finish()])
IMAGE = np.full(64, 7, np.uint8)


def artifact(*names: str) -> Artifact:
    """Steps of an accelerator without operands: streams of one and of two instructions."""
    programs = (ONE, TWO)
    streams = {
        name: plain_stream(name, TINY, program.data)
        for name, program in zip(names, programs, strict=False)
    }
    steps = [plain_step(name, device="accelerator") for name in names]
    return plain_artifact([], steps, streams=streams)


def taken(
    made: Artifact,
    stream: str | None = None,
    image: NDArray[np.uint8] | None = None,
    asked: HardwareConfig | None = None,
    prefix: str = "--",
) -> tuple[bytes, list[int]]:
    found = stream_in(made, "net", stream, image, asked, prefix)
    assert found.image is not None
    assert found.config == TINY
    return found.program.data, found.image.tolist()


def test_streams() -> None:
    assert taken(artifact("a")) == (ONE.data, [*range(64)])
    assert taken(artifact("a"), "a", asked=TINY) == (ONE.data, [*range(64)])
    assert taken(artifact("a", "b"), "a") == (ONE.data, [*range(64)])
    assert taken(artifact("a", "b"), "b", IMAGE) == (TWO.data, [7] * 64)


@pytest.mark.parametrize(
    ("made", "stream", "image", "asked", "message"),
    [
        ((), None, None, None, "net: an artifact without an instruction stream: it was compiled"),
        (
            ("b", "a"),
            None,
            None,
            None,
            "net: an artifact with several streams: --stream takes a, b",
        ),
        (("b", "a"), "c", None, None, "net: --stream c: the artifact has a, b"),
        (
            ("a",),
            None,
            IMAGE[:63],
            None,
            "--image has 63 bytes: the memory of stream a of net has 64",
        ),
        (
            ("a",),
            None,
            None,
            PYNQ,
            "--config pynq: net was compiled for tiny, which it brings along",
        ),
    ],
)
def test_what_is_no_stream(
    made: tuple[str, ...],
    stream: str | None,
    image: NDArray[np.uint8] | None,
    asked: HardwareConfig | None,
    message: str,
) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}"):
        taken(artifact(*made), stream, image, asked)


def test_names_of_arguments_are_without_dashes() -> None:
    with pytest.raises(ArgumentValueError, match=r"^machine pynq: net was compiled for tiny"):
        taken(artifact("a"), asked=PYNQ, prefix="")


def test_files(tmp_path: Path) -> None:
    raw, image = tmp_path / "program.bin", tmp_path / "image.bin"
    raw.write_bytes(ONE.data)
    image.write_bytes(bytes([1, 2, 255]))
    assert read_image(image).tolist() == [1, 2, 255]
    found = program_in(raw, None, None, None, TINY)
    assert (found.program, found.image) == (ONE, None)
    # The machine that is named is for artifacts; a raw program has the default.
    found = program_in(raw, None, IMAGE, PYNQ, TINY)
    assert found.config == TINY
    assert found.image is IMAGE
    with pytest.raises(ArgumentValueError, match=r"a raw program; --stream is for an artifact$"):
        program_in(raw, "a", None, None, TINY, "--")

"""Programs that `tandem sim` and `tandem disasm` take: raw ones, and streams of artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer
from numpy.typing import NDArray

from tandem.base.input_files import read_input
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.runtime.artifact import Artifact, StreamCode, is_artifact, read_artifact, streams_of
from tandem.scripts.errors import CommandError

PROGRAM_BYTES: Final = 1 << 28
"""Limit of raw programs: 16 million instructions."""
IMAGE_BYTES: Final = 1 << 32
"""Limit of raw memory images: all that an address of 32 bits reaches."""

ProgramArgument = Annotated[
    Path,
    # The command reports an unreadable file itself (exit code 1), not Typer as wrong usage (2).
    typer.Argument(
        metavar="PROGRAM",
        readable=False,
        help="Raw program: 16 bytes an instruction; or an artifact of `tandem compile`, whose "
        "instruction stream is taken, with its configuration and memory image.",
    ),
]
StreamOption = Annotated[
    str | None,
    typer.Option(
        "--stream", metavar="NAME", help="Which instruction stream of an artifact with several."
    ),
]
ImageOption = Annotated[
    Path | None,
    typer.Option(
        "--image",
        metavar="FILE",
        readable=False,
        help="Raw memory image, which holds the micro-ops too: index is the address. An artifact's "
        "stream has its own, with zeros for the network's inputs; another one replaces it.",
    ),
]


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program for one machine, with its memory image; None if there is none."""

    program: Program
    image: NDArray[np.uint8] | None

    @property
    def config(self) -> HardwareConfig:
        """The machine that the program is for."""
        return self.program.config


def read_program(
    context: typer.Context, path: Path, stream: str | None, image: Path | None, config: str
) -> LoadedProgram:
    """Read a raw program, or a stream of an artifact.

    Parameters
    ----------
    context
        The command's, which knows whether `--config` was given.
    image, config
        The values of `--image` and `--config`.

    Raises
    ------
    CommandError
        An option does not fit the program: `--stream` of a raw program, or of no stream of the
        artifact; another configuration than the artifact's, or an image of another size. Or the
        artifact has no stream, or several and `--stream` is missing.
    HardwareError, ArtifactError, OSError
        A file is not what it should be, or cannot be read.
    """
    content = None if image is None else np.frombuffer(read_input(image, IMAGE_BYTES), np.uint8)
    if not is_artifact(path):
        if stream is not None:
            raise CommandError(f"{path}: a raw program; --stream is for an artifact")
        code = read_input(path, PROGRAM_BYTES)
        return LoadedProgram(Program.from_bytes(load_config(config), code), content)
    artifact = read_artifact(path)
    found = _stream(path, artifact, stream)
    source = context.get_parameter_source("config")
    if source is not None and source.name == "COMMANDLINE":
        _check_config(path, found.config, load_config(config))
    if content is not None and content.size != found.image.size:
        raise CommandError(
            f"--image has {content.size:,} bytes: the memory of stream {found.name} of {path} has "
            f"{found.image.size:,}"
        )
    program = Program.from_bytes(found.config, found.program)
    return LoadedProgram(program, found.image if content is None else content)


def _stream(path: Path, artifact: Artifact, name: str | None) -> StreamCode:
    streams = streams_of(artifact)
    if not streams:
        raise CommandError(
            f"{path}: an artifact without an instruction stream: it was compiled for the CPU alone "
            f"(--device cpu or --quantize none), or has no operator that the accelerator supports"
        )
    known = ", ".join(sorted(streams))
    if name is None:
        if len(streams) > 1:
            raise CommandError(f"{path}: an artifact with several streams: --stream takes {known}")
        return next(iter(streams.values()))
    if name not in streams:
        raise CommandError(f"{path}: --stream {name}: the artifact has {known}")
    return streams[name]


def _check_config(path: Path, made: HardwareConfig, asked: HardwareConfig) -> None:
    if differences := made.differences(asked):
        raise CommandError(
            f"--config {asked.name}: {path} was compiled for {made.name}, which it brings along: "
            f"{', '.join(differences)}"
        )

"""Programs for an accelerator: raw ones, and instruction streams of artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tandem.base.input_files import read_input
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.runtime.artifact import Artifact, StreamCode, is_artifact, read_artifact, streams_of
from tandem.workbench.errors import ArgumentValueError

PROGRAM_BYTES: Final = 1 << 28
"""Limit of raw programs: 16 million instructions."""
IMAGE_BYTES: Final = 1 << 32
"""Limit of raw memory images: all that an address of 32 bits reaches."""


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A program for one machine, with its memory image; None if there is none."""

    program: Program
    image: NDArray[np.uint8] | None

    @property
    def config(self) -> HardwareConfig:
        """The machine that the program is for."""
        return self.program.config


def read_image(path: Path) -> NDArray[np.uint8]:
    """The bytes of a raw memory image; raises `OSError` if the file cannot be read."""
    return np.frombuffer(read_input(path, IMAGE_BYTES), np.uint8)


def program_in(
    path: Path,
    stream: str | None,
    image: NDArray[np.uint8] | None,
    asked: HardwareConfig | None,
    default: HardwareConfig,
    prefix: str = "",
) -> LoadedProgram:
    """The program in a file: a raw one, or a stream of an artifact.

    Parameters
    ----------
    stream, asked
        The stream of an artifact with several, and its machine, which may be named, too.
    image
        The memory image; None for the artifact's own.
    default
        The machine of a raw program.
    prefix
        What names of options begin with in errors.

    Raises
    ------
    ArgumentValueError
        As `stream_in`; a stream of a raw program.
    HardwareError, ArtifactError, OSError
        The file is not what it should be, or cannot be read.
    """
    if is_artifact(path):
        return stream_in(read_artifact(path), str(path), stream, image, asked, prefix)
    if stream is not None:
        raise ArgumentValueError(f"{path}: a raw program; {prefix}stream is for an artifact")
    return LoadedProgram(Program.from_bytes(default, read_input(path, PROGRAM_BYTES)), image)


def stream_in(
    artifact: Artifact,
    name: str,
    stream: str | None,
    image: NDArray[np.uint8] | None,
    asked: HardwareConfig | None,
    prefix: str = "",
) -> LoadedProgram:
    """The program of an instruction stream; parameters as of `program_in`.

    Parameters
    ----------
    name
        The artifact's name in errors.

    Raises
    ------
    ArgumentValueError
        Another machine than the artifact's, or an image of another size; no stream, or several of
        which none is named, or an unknown one.
    """
    found = _stream(name, artifact, stream, prefix)
    if asked is not None and (differences := found.config.differences(asked)):
        option = "--config" if prefix else "machine"
        raise ArgumentValueError(
            f"{option} {asked.name}: {name} was compiled for {found.config.name}, which it brings "
            f"along: {', '.join(differences)}"
        )
    if image is not None and image.size != found.image.size:
        raise ArgumentValueError(
            f"{prefix}image has {image.size:,} bytes: the memory of stream {found.name} of {name} "
            f"has {found.image.size:,}"
        )
    program = Program.from_bytes(found.config, found.program)
    return LoadedProgram(program, found.image if image is None else image)


def _stream(path: str, artifact: Artifact, name: str | None, prefix: str) -> StreamCode:
    streams = streams_of(artifact)
    if not streams:
        raise ArgumentValueError(
            f"{path}: an artifact without an instruction stream: it was compiled for the CPU alone "
            "or in float32, or has no operator that the accelerator supports"
        )
    known = ", ".join(sorted(streams))
    if name is None:
        if len(streams) > 1:
            raise ArgumentValueError(
                f"{path}: an artifact with several streams: {prefix}stream takes {known}"
            )
        return next(iter(streams.values()))
    if name not in streams:
        raise ArgumentValueError(f"{path}: {prefix}stream {name}: the artifact has {known}")
    return streams[name]

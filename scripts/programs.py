"""Programs that `tandem sim` and `tandem disasm` take: raw ones, and streams of artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tandem.hw.config_files import load_config
from tandem.workbench.programs import LoadedProgram, program_in, read_image

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
    ArgumentValueError, HardwareError, ArtifactError, OSError
        As `workbench.programs.program_in`.
    """
    content = None if image is None else read_image(image)
    source = context.get_parameter_source("config")
    is_given = source is not None and source.name == "COMMANDLINE"
    machine = load_config(config)
    return program_in(path, stream, content, machine if is_given else None, machine, prefix="--")

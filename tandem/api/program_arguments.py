"""Programs and memory images as arguments of calls."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.api.artifact import Artifact
from tandem.api.machines import Machine, accelerator_of
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import EncodingError
from tandem.hw.isa import Program
from tandem.workbench.arguments import expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.programs import LoadedProgram, program_in, read_image, stream_in

AnyProgram: TypeAlias = Program | Artifact | bytes | str | os.PathLike[str]
"""A program of `tandem.isa`, an artifact with its instruction stream, 16 bytes an instruction, or a
file of either."""
Image: TypeAlias = bytes | NDArray[np.uint8] | str | os.PathLike[str]
"""The bytes of memory from address 0 on, or a file of them."""


def loaded_program(
    program: object, image: object, machine: Machine | None, stream: str | None, call: str
) -> LoadedProgram:
    """The program and the image of arguments."""
    content = _image(image)
    asked = None if machine is None else accelerator_of(machine, call).config
    default = asked or load_config("pynq")
    with value_errors(EncodingError):
        match program:
            case Artifact():
                artifact = program.network.artifact
                return stream_in(artifact, program.name, stream, content, asked)
            case str() | os.PathLike():
                return program_in(file_path("program", program), stream, content, asked, default)
            case Program() | bytes():
                if stream is not None:
                    raise ArgumentValueError("stream is for an artifact, not for a raw program")
                if isinstance(program, bytes):
                    return LoadedProgram(Program.from_bytes(default, program), content)
                _check_machine(program.config, asked)
                return LoadedProgram(program, content)
    expect("program", program, "a Program, an Artifact, bytes, or a path of either")


def _check_machine(own: HardwareConfig, asked: HardwareConfig | None) -> None:
    if asked is not None and (differences := own.differences(asked)):
        raise ArgumentValueError(
            f"machine {asked.name}: the program is for {own.name}: {', '.join(differences)}"
        )


def _image(image: object) -> NDArray[np.uint8] | None:
    match image:
        case None:
            return None
        case bytes():
            return np.frombuffer(image, np.uint8)
        case np.ndarray() if image.dtype == np.uint8 and image.ndim == 1:
            return image
        case str() | os.PathLike():
            return read_image(file_path("image", image))
    expect("image", image, "bytes, a flat array of uint8, or a path")

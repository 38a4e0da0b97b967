"""`tandem.simulate`, `tandem.disassemble` and `tandem.verify`: programs of the accelerator."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.api.artifact import Artifact
from tandem.api.machines import Machine, Memory, NamedMemory, accelerator_of
from tandem.api.progress import Progress, steps_of
from tandem.base.files import check_destination
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import EncodingError
from tandem.hw.isa import Program
from tandem.hw.isa import disassemble as disassemble_program
from tandem.sim.engine import Launch, Stalls
from tandem.sim.engines import ENGINES
from tandem.sim.errors import MemoryImageError
from tandem.workbench.arguments import at_least, choice, expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.program_proof import Proof, prove
from tandem.workbench.programs import LoadedProgram, program_in, read_image, stream_in
from tandem.workbench.simulation import Simulation, open_simulator, place
from tandem.workbench.traces import WAVEFORMS, Traces

AnyProgram: TypeAlias = Program | Artifact | bytes | str | os.PathLike[str]
"""A program of `tandem.isa`, an artifact with its instruction stream, 16 bytes an instruction, or a
file of either."""
Image: TypeAlias = bytes | NDArray[np.uint8] | str | os.PathLike[str]
"""The bytes of memory from address 0 on, or a file of them."""
_MOST_STALLS = 0.99


def simulate(
    program: AnyProgram,
    image: Image | None = None,
    *,
    machine: Machine | None = None,
    stream: str | None = None,
    engine: str = "cycle",
    compare: str | None = None,
    memory: Memory = "fast",
    address: int | None = None,
    max_cycles: int | None = None,
    stalls: float = 0.0,
    seed: int = 0,
    fill: int | None = None,
    data: bool = True,
    waveform: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Simulation:
    """Run a program on a memory image, or an artifact's instruction stream on its own.

    All base registers are 0, so that DRAM addresses are offsets in the image.

    Parameters
    ----------
    program
        A program of `tandem.isa`, an artifact, 16 bytes an instruction, or a file of either.
    image
        Memory from address 0 on, with the micro-ops; None for that of an artifact's stream, with
        zeros for the network's inputs. It is not changed.
    machine
        The machine of bytes, `pynq` by default. A program and an artifact have theirs.
    stream
        Which instruction stream of an artifact with several.
    engine
        `cycle`, `rtl`, `functional` or `pysim`.
    compare
        A second engine, which is compared with the first one.
    memory
        As of `Session`.
    address
        Where the program lies, in bytes; None for the first page above the image.
    max_cycles
        Stop after so many cycles.
    stalls, seed
        The part of the time that each bus channel stalls, 0 to 0.99, at random (`rtl`, `pysim`).
    fill
        The byte, 0 to 255, that on-chip memories are filled with before the run; None for zeros.
    data
        False to compute time alone: the image stays as it is (`cycle`).
    waveform
        A file for a waveform: `.fst` (`rtl`) or `.vcd` (`pysim`).
    progress
        None, True for a bar, or a callback of (done, total, text): cycles.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    HardwareError, SimulationError
        The program is illegal, never ends, has accesses that fail, or runs for longer than allowed.
    OSError
        A file cannot be read or written.
    """
    loaded = _loaded(program, image, machine, stream, "simulate")
    if loaded.image is None:
        raise ArgumentValueError(
            "image is None: a raw program runs on a memory image, which only an artifact has"
        )
    names = [choice("engine", engine, ENGINES)]
    if compare is not None:
        names.append(choice("engine", compare, ENGINES))
    if len({*names}) < len(names):
        raise ArgumentValueError(f"engine and compare are both {engine}: name two engines")
    model = NamedMemory.of(memory).model
    how = Launch(
        address=0,
        max_cycles=None if max_cycles is None else at_least("max_cycles", max_cycles, 1),
        events=True,
        stalls=_stalls(stalls, at_least("seed", seed, 0)),
        data=data,
    )
    if fill is not None and at_least("fill", fill, 0) > 0xFF:
        raise ArgumentValueError(f"fill is {fill}: it must be a byte, 0 to 255")
    with value_errors(MemoryImageError):
        placed = place(loaded, None if address is None else at_least("address", address, 0))
    traces = Traces(None, _waveform(waveform))
    check_destination(traces.waveform)
    with (
        open_simulator(names, loaded.config, model) as simulator,
        traces.waveform_draft() as draft,
        steps_of("simulate", progress) as steps,
    ):

        def report(cycles: int) -> None:
            steps.at(cycles, max_cycles or 0, "cycles")

        return simulator.run(placed, replace(how, waveform=draft, progress=report), fill)


def disassemble(
    program: AnyProgram, *, machine: Machine | None = None, stream: str | None = None
) -> str:
    """A program as text, one line an instruction; illegal ones say what is wrong about them.

    >>> assembler = tandem.isa.Assembler(tandem.Accelerator("tiny").config)
    >>> end = assembler.finish()
    >>> print(tandem.disassemble(assembler.build()))
    0  FINISH

    Parameters
    ----------
    program, machine, stream
        As of `simulate`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    OSError
        A file cannot be read.
    """
    loaded = _loaded(program, None, machine, stream, "disassemble")
    return disassemble_program(loaded.program).rstrip("\n")


def verify(
    program: AnyProgram,
    image: Image | None = None,
    *,
    machine: Machine | None = None,
    stream: str | None = None,
    address: int | None = None,
) -> Proof:
    """Prove that a program's tokens order all accesses that conflict, or say what they do not.

    Without an image the accesses of GEMM and ALU, which depend on micro-ops, are not checked.

    Parameters
    ----------
    program, image, machine, stream, address
        As of `simulate`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    OSError
        A file cannot be read.
    """
    loaded = _loaded(program, image, machine, stream, "verify")
    with value_errors(MemoryImageError):
        return prove(loaded, None if address is None else at_least("address", address, 0))


def _loaded(
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


def _stalls(part: object, seed: int) -> Stalls | None:
    if isinstance(part, bool) or not isinstance(part, int | float):
        expect("stalls", part, "a number from 0 to 0.99")
    if not 0 <= part <= _MOST_STALLS:
        raise ArgumentValueError(f"stalls is {part}: it must be a number from 0 to 0.99")
    return Stalls(float(part), seed) if part else None


def _waveform(path: object) -> Path | None:
    if path is None:
        return None
    file = file_path("waveform", path)
    if file.suffix not in WAVEFORMS:
        raise ArgumentValueError(f"{file}: a waveform ends in {' or '.join(WAVEFORMS)}")
    return file

"""`tandem.simulate`: a program runs on a memory image."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tandem.api.machines import Machine, Memory, NamedMemory
from tandem.api.program_arguments import AnyProgram, Image, loaded_program
from tandem.api.progress import Progress, steps_of
from tandem.base.files import check_destination
from tandem.sim.engine import Launch, Stalls
from tandem.sim.engines import ENGINES
from tandem.sim.errors import MemoryImageError
from tandem.workbench.arguments import at_least, choice, expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.simulation import Simulation, open_simulator, place
from tandem.workbench.traces import WAVEFORMS, Traces

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
    loaded = loaded_program(program, image, machine, stream, "simulate")
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

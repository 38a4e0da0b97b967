"""A program that runs on a memory image, and what comes of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tandem.base.files import check_destination
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim.compare import Comparison
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.engines import make_engine, make_pair
from tandem.sim.fill import fill_on_chip
from tandem.sim.image_bounds import check_image_bounds
from tandem.sim.memory import place_program
from tandem.sim.result import Result
from tandem.sim.trace import write_timeline
from tandem.workbench.arguments import file_path
from tandem.workbench.counters import counters_json, unit_cycles, work_table
from tandem.workbench.engine_comparison import EngineComparison
from tandem.workbench.errors import ArgumentValueError, UntimedError
from tandem.workbench.programs import LoadedProgram
from tandem.workbench.table import Table


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Simulation:
    """What came of a program that ran to its end.

    Attributes
    ----------
    program, result
        What ran, and what the engine says of it.
    image
        The memory image as the run leaves it: uint8, the index is the address.
    comparison
        The comparison of two engines; None of one.
    """

    program: Program
    result: Result
    image: NDArray[np.uint8]
    comparison: EngineComparison | None

    @property
    def machine(self) -> HardwareConfig:
        """The machine that the program ran on."""
        return self.program.config

    @property
    def engine(self) -> str:
        """The engine's name; of two, the first one's."""
        return self.result.engine

    @property
    def cycles(self) -> int | None:
        """Clock cycles from launch to done; None from an engine without time."""
        return self.result.cycles

    @property
    def units(self) -> Table:
        """Each unit's cycles by what it did; without rows from an engine without time."""
        return unit_cycles(self.result)

    @property
    def work(self) -> Table:
        """Bytes, micro-ops and instructions, which depend on the program alone."""
        return work_table(self.result.work)

    @property
    def image_sha256(self) -> str:
        """The digest of the memory image that the run leaves."""
        return hashlib.sha256(self.image.data).hexdigest()

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a timeline (.json) for Perfetto.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written.
        UntimedError
            The engine counts no cycles.
        """
        file = file_path("path", path)
        if file.suffix != ".json":
            raise ArgumentValueError(f"{file}: a timeline is a file that ends in .json")
        check_destination(file)
        if self.cycles is None:
            raise UntimedError(f"trace needs cycles: the engine {self.engine} counts none")
        write_timeline(file, self.result, self.program)

    def as_json(self) -> dict[str, object]:
        """The JSON object of `tandem sim`."""
        comparison = self.comparison
        return {
            "engine": self.engine,
            "config": self.machine.name,
            "instructions": len(self.program),
            "cycles": self.cycles,
            "counters": counters_json(self.result),
            "image_sha256": self.image_sha256,
            "compare": None if comparison is None else comparison.as_json(),
        }

    def __repr__(self) -> str:
        cycles = "no cycles" if self.cycles is None else f"{self.cycles:,} cycles"
        lines = [
            f"{len(self.program):,} instructions on {self.machine.name}, engine {self.engine}: "
            f"{cycles}"
        ]
        if self.comparison is not None:
            first = self.comparison.first_text()
            engines = " and ".join(self.comparison.engines)
            lines.append(f"different: {first}" if first else f"equal: {engines}")
        return "\n".join([*lines, *([repr(self.units)] if len(self.units) else [])])


@dataclass(frozen=True, slots=True)
class PlacedProgram:
    """A program in memory, above its image or in a place of the caller's.

    Attributes
    ----------
    image_bytes
        The size of the image, which begins at address 0.
    """

    program: Program
    memory: Bytes
    address: int
    image_bytes: int


def place(loaded: LoadedProgram, address: int | None) -> PlacedProgram:
    """A program in memory with a copy of its image, which it must have.

    Parameters
    ----------
    address
        Where the program lies; None for the first page above the image.

    Raises
    ------
    MemoryImageError
        The program does not fit the image, or leaves it.
    """
    assert loaded.image is not None, "checked by whoever loads it"
    memory, where = place_program(loaded.image, loaded.program, address)
    check_image_bounds(loaded.program, len(loaded.image))
    return PlacedProgram(loaded.program, memory, where, len(loaded.image))


@dataclass(frozen=True, slots=True)
class Simulator:
    """An engine, or two that are compared, on which programs run."""

    engine: Engine
    comparisons: list[Comparison]

    def run(self, placed: PlacedProgram, how: Launch, fill: int | None) -> Simulation:
        """Run a program to its end; the memory is changed.

        Parameters
        ----------
        how
            The options of the launch, whose address is replaced.
        fill
            The byte that on-chip memories are filled with; None for zeros.

        Raises
        ------
        HardwareError, SimulationError
            The program is illegal, never ends, or has accesses that fail.
        """
        if fill is not None:
            fill_on_chip(self.engine, fill, waveform=how.waveform)
        launch = replace(how, address=placed.address)
        result = self.engine.launch(placed.program, placed.memory, launch)
        comparison = EngineComparison(self.comparisons) if self.comparisons else None
        after = placed.memory[: placed.image_bytes].copy()
        return Simulation(placed.program, result, after, comparison)


@contextmanager
def open_simulator(
    engines: Sequence[str], config: HardwareConfig, memory: MemoryModel
) -> Iterator[Simulator]:
    """A context with an engine, or two that are compared, by their names."""
    comparisons: list[Comparison] = []
    engine: Engine
    match engines:
        case [one]:
            engine = make_engine(one, config, memory)
        case [first, second]:
            engine = make_pair((first, second), config, memory, comparisons.append)
        case _:
            raise ArgumentValueError(f"engines are {[*engines]}: there must be one, or two")
    try:
        yield Simulator(engine, comparisons)
    finally:
        engine.close()

"""The interface of the simulators.

An engine is a machine that is switched on: its on-chip memories keep their contents from one
`launch` to the next. Programs, memory, results, events and errors are the same for every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.isa import MemoryId, Program
from hw.memory_model import MemoryModel
from sim.result import Result

__all__ = ["Bytes", "Engine", "Launch", "Progress", "Stalls"]

Bytes = npt.NDArray[np.uint8]
"""Physical memory, index == address, which engines read and write in place."""

Progress = Callable[[int], None]
"""Called from time to time with the cycles (functional: micro-ops) done so far."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """Random stalls on every bus channel: a test of results, never of time.

    In each cycle each channel stalls with `probability`, from a generator with this seed.
    """

    probability: float
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Options for the run of a program.

    Attributes
    ----------
    address
        Physical address of the program in memory, a multiple of 16. The engine copies it there.
    bases
        The base registers, by `MemoryId`: bytes, each a multiple of its memory's element.
    max_cycles
        Stop after this many cycles with `CycleLimitError`. The functional engine, which has no
        time, stops when the machine would certainly have: one micro-op takes a cycle.
    events
        Keep the event records in the result.
    waveform
        File for a waveform (`.fst` from `rtl`, `.vcd` from `pysim`).
    stalls
        Random bus stalls (`rtl` and `pysim`).
    bus_errors
        Address ranges [start, end) in which accesses are answered with an error.
    validate
        Refuse an illegal program before it starts; without it, the machine itself reports the
        fault.
    """

    address: int
    bases: tuple[int, ...] = (0,) * len(MemoryId)
    max_cycles: int | None = None
    events: bool = False
    waveform: Path | None = None
    stalls: Stalls | None = None
    bus_errors: tuple[tuple[int, int], ...] = ()
    validate: bool = True
    progress: Progress | None = None


class Engine(Protocol):
    """A simulated machine."""

    config: HardwareConfig
    memory_model: MemoryModel
    has_time: bool
    """Whether its results have cycles."""

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        ...

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program` on `memory` to its end.

        Raises
        ------
        ProgramError
            The program breaks the instruction set's rules.
        DeadlockError, BusError, CycleLimitError
            The run cannot end, an access failed, or the run exceeded `how.max_cycles`.
        MemoryImageError
            `memory` cannot hold the program at `how.address`.
        EngineError
            `how` has an option that this engine lacks.
        """
        ...

    def close(self) -> None:
        """Switch the machine off."""
        ...

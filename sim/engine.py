"""The one interface of the simulators.

An engine is a machine that has been switched on: its on-chip memories keep their contents from one
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
"""Physical memory: index == address. Engines read and write it in place."""

Progress = Callable[[int], None]
"""Called now and then with the cycles (functional: micro-ops) done so far."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """Random hesitation on every bus channel: a test of results, never of time.

    In each cycle each channel is held back with `probability`, from the generator seeded `seed`.
    """

    probability: float
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to run one program.

    Attributes
    ----------
    address
        Physical address of the program in memory, a multiple of 16. The engine copies it there.
    bases
        The base registers, by `MemoryId`: bytes, each a multiple of its memory's element.
    max_cycles
        Give up after this many cycles with `CycleLimitError`. The functional engine, which has no
        time, gives up where it is certain that the machine would: one micro-op takes a cycle.
    events
        Keep the event records in the result.
    waveform
        File for a waveform (`.fst` from `rtl`, `.vcd` from `pysim`).
    stalls
        Random bus stalls (`rtl` and `pysim`).
    bus_errors
        Address ranges [start, end) that answer with an error.
    validate
        Refuse an illegal program before it starts. Switched off to see the machine's own refusal.
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
    """Whether its results tell cycles."""

    @property
    def name(self) -> str:
        """How the command line calls this engine."""
        ...

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program` on `memory` to its end, and return what came of it.

        Raises
        ------
        ProgramError
            The program breaks the instruction set's rules.
        DeadlockError, BusError, CycleLimitError
            The run cannot end, or memory refused, or it took too long.
        MemoryImageError
            `memory` cannot hold the program at `how.address`.
        EngineError
            `how` asks for what this engine does not have.
        """
        ...

    def close(self) -> None:
        """Switch the machine off."""
        ...

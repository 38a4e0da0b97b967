"""The interface of the simulators.

An engine simulates one powered-on machine: on-chip memories keep their contents from one `launch`
to the next. All engines share the types of programs, memory, results, events and errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.result import Result

Bytes = npt.NDArray[np.uint8]
"""Physical memory, index == address, which engines read and write in place."""

Progress = Callable[[int], None]
"""Progress callback: receives the cycles (functional engine: micro-ops) done so far."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """Random stalls on every bus channel, to test that results do not depend on timing.

    In each cycle each channel stalls with `probability`; `seed` is that of the random generator.
    """

    probability: float
    seed: int = 0


class Channel(IntFlag):
    """AXI channels, as bits of a mask."""

    AR = 1
    R = 2
    AW = 4
    W = 8
    B = 16


@dataclass(frozen=True, slots=True)
class Silence:
    """Memory that stops answering for a while, to test what a machine does then.

    Attributes
    ----------
    channels
        Where nothing happens.
    begin, cycles
        From cycle `begin` of the run on, for as many cycles.
    lost
        Whether what was not answered when the launch ends is never answered (`rtl` and `pysim`).
    """

    channels: Channel
    begin: int
    cycles: int
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Options of one launch of a program.

    Attributes
    ----------
    address
        Physical address of the program in memory, a multiple of 16, to which the engine copies it.
    bases
        Base registers in bytes, by `MemoryId`: multiples of the memory's element size.
    max_cycles
        Raise `CycleLimitError` after this many cycles. The functional engine, which has no cycles,
        counts micro-ops: the hardware takes at least a cycle for each.
    events
        Keep the event records in the result.
    waveform
        File for a waveform (`.fst` from `rtl`, `.vcd` from `pysim`).
    stalls
        Random bus stalls (`rtl` and `pysim`).
    bus_errors
        Address ranges [start, end) in which accesses are answered with an error.
    bus_timeout
        The register of that name: cycles in which the bus owes something and nothing moves on it,
        after which the run ends with `BusTimeoutError`; 0 for any number.
    silence
        Memory that stops answering for a while. The functional engine, which has no time, ignores
        both.
    data
        Compute results. If False, the run has its time and its work, and changes no memory, which
        must hold the program's micro-ops; only the cycle engine can do so.
    validate
        Refuse an illegal program before the launch; if False, the machine reports the fault.
    """

    address: int
    bases: tuple[int, ...] = (0,) * BASE_REGISTERS
    max_cycles: int | None = None
    events: bool = False
    waveform: Path | None = None
    stalls: Stalls | None = None
    bus_errors: tuple[tuple[int, int], ...] = ()
    bus_timeout: int = 0
    silence: Silence | None = None
    data: bool = True
    validate: bool = True
    progress: Progress | None = None


class Engine(Protocol):
    """A simulated machine."""

    config: HardwareConfig
    memory_model: MemoryModel
    has_time: bool
    """Whether the engine's results have cycles."""

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        ...

    def prepare(self, data: bool = True) -> None:
        """Compile, or build, what launches need, with `Launch.data` or without. A launch does it
        too, if nobody has; it is no part of `Result.seconds`."""
        ...

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program` on `memory` to its end.

        Raises
        ------
        ProgramError
            The program breaks the instruction set's rules.
        DeadlockError, BusError, CycleLimitError
            The run deadlocked, a memory access failed, or the run exceeded `how.max_cycles`.
        MemoryImageError
            `memory` cannot hold the program at `how.address`.
        EngineError
            `how` has an option that this engine lacks.
        """
        ...

    def close(self) -> None:
        """Free the simulated machine."""
        ...

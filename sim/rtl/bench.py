"""What the RTL engines have in common: a design on a bench, with a clock, memory and a driver.

Two benches exist: the compiled harness (`sim.rtl.library`) and Amaranth's simulator (`sim.pysim`).
Everything above them - how a launch goes, what its registers mean - is written once, in
`sim.rtl.launch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sim.engine import Bytes, Launch, Stalls
from sim.errors import EngineError
from sim.rtl.constants import STALL_STEPS

__all__ = ["ACCESS_CYCLES", "Bench", "EventLog", "Setup", "stall_threshold"]

ACCESS_CYCLES = 10_000
"""A register access that is not answered within so many cycles never will be."""

EventLog = npt.NDArray[np.uint64]
"""Rows (cycle, bits): cycles count from the first with `running`, bits as the `events` port's."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What surrounds the design during one launch."""

    memory: Bytes
    refused: tuple[tuple[int, int], ...]
    stalls: Stalls | None
    events: bool
    waveform: Path | None

    @classmethod
    def of(cls, memory: Bytes, how: Launch) -> Setup:
        """The surroundings that `how` asks for."""
        return cls(memory, how.bus_errors, how.stalls, how.events, how.waveform)


class Bench(Protocol):
    """A design with everything that it is wired to."""

    def attach(self, setup: Setup) -> None:
        """Put memory behind the design and forget the events of the launch before."""
        ...

    def detach(self) -> None:
        """Take memory away and close the waveform."""
        ...

    def write(self, offset: int, value: int) -> None:
        """Write one 32-bit register; `EngineError` where the design does not answer."""
        ...

    def read(self, offset: int) -> int:
        """Read one 32-bit register; `EngineError` where the design does not answer."""
        ...

    def run(self, cycles: int) -> bool:
        """Clock until the interrupt is up (True) or for `cycles` (False).

        `EngineError` where the design breaks a rule of AXI.
        """
        ...

    @property
    def cycles(self) -> int:
        """Cycles since the design said that it was running; 0 before."""
        ...

    def events(self) -> EventLog:
        """What happened since `attach`, in order of time."""
        ...


def stall_threshold(stalls: Stalls | None) -> int:
    """The probability of `stalls` in steps of 1/4096."""
    if stalls is None:
        return 0
    if not 0 <= stalls.probability < 1:
        raise EngineError(f"stall probability {stalls.probability}: it must be in 0..1, below 1")
    if not 0 <= stalls.seed < 1 << 64:
        raise EngineError(f"stall seed {stalls.seed}: it must be in 0..2^64-1")
    return round(stalls.probability * (STALL_STEPS - 1))

"""The interface of test benches: a design with a clock, memory and register access.

There are two: the compiled harness (`sim.rtl.library`) and Amaranth's simulator (`sim.pysim`).
`sim.rtl.launch` launches programs on either, through the design's registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tandem.sim.engine import Bytes, Launch, Silence, Stalls
from tandem.sim.errors import EngineError
from tandem.sim.rtl.constants import STALL_STEPS

ACCESS_CYCLES = 10_000
"""Timeout of a register access, in cycles."""

EventLog = npt.NDArray[np.uint64]
"""Rows (cycle, bits): cycles since the first with `running`, and bits of the `events` port."""


@dataclass(frozen=True, slots=True)
class BenchSetup:
    """The design's environment in one launch: memory, bus errors, stalls, recording."""

    memory: Bytes
    refused: tuple[tuple[int, int], ...]
    stalls: Stalls | None
    events: bool
    waveform: Path | None
    silence: Silence | None = None

    @classmethod
    def of(cls, memory: Bytes, how: Launch) -> BenchSetup:
        """The environment for the launch options `how`."""
        return cls(memory, how.bus_errors, how.stalls, how.events, how.waveform, how.silence)


class Bench(Protocol):
    """A test bench: a design with a clock, memory and register access."""

    def attach(self, setup: BenchSetup) -> None:
        """Connect memory to the design and clear the event log."""
        ...

    def detach(self) -> None:
        """Disconnect memory and close the waveform."""
        ...

    def write(self, offset: int, value: int) -> None:
        """Write a 32-bit register; raises `EngineError` if the design does not answer."""
        ...

    def read(self, offset: int) -> int:
        """Read a 32-bit register; raises `EngineError` if the design does not answer."""
        ...

    def run(self, cycles: int) -> bool:
        """Clock for at most `cycles`, until the interrupt; returns whether the interrupt is high.

        Raises `EngineError` if the design breaks a rule of AXI.
        """
        ...

    @property
    def cycles(self) -> int:
        """Cycles since the design's `running` bit rose; 0 before."""
        ...

    def events(self) -> EventLog:
        """The event log since `attach`, in order of time."""
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

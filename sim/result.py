"""The result of a run, in types that all engines share."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.hw.isa import Work
from tandem.hw.topology import Unit
from tandem.sim.events import EventTable


@dataclass(frozen=True, slots=True)
class UnitCycles:
    """A unit's cycles from launch to done, by activity; the remaining cycles are idle.

    Attributes
    ----------
    busy
        Executing an instruction.
    token, memory
        Waiting for a token, and for memory.
    """

    busy: int
    token: int
    memory: int


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a finished run.

    Attributes
    ----------
    cycles
        Cycles from launch to done; None from an engine without time.
    units
        Each unit's cycles; None from an engine without time.
    work
        Bytes and micro-ops, a function of the program alone.
    events
        In order of time; empty unless the launch had `events`.
    seconds
        Wall-clock time of the run itself.
    """

    engine: str
    cycles: int | None
    units: dict[Unit, UnitCycles] | None
    work: Work
    events: EventTable
    seconds: float

"""The result of a run, in types that all engines share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hw.isa import Work
from hw.topology import TokenQueue, Unit


class EventKind(Enum):
    """The kinds of events. START and END bracket an instruction's stay in its unit.

    Only engines with time have FETCH and DISPATCH.
    """

    FETCH = "fetch"
    """The instruction reached dispatch: it was read, and all earlier ones are dispatched."""
    DISPATCH = "dispatch"
    """The instruction was put in its unit's queue, which may have been full before."""

    START = "start"
    """The instruction's tokens were popped, and its execution began."""
    END = "end"
    """The instruction's last effect was done; its tokens were pushed in this cycle."""
    POP = "pop"
    """A token was popped from a queue."""
    PUSH = "push"
    """A token was pushed to a queue."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an instruction. `cycle` is None from an engine without time."""

    cycle: int | None
    unit: Unit
    instruction: int
    kind: EventKind
    queue: TokenQueue | None = None


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
    events: tuple[Event, ...]
    seconds: float

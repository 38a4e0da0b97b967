"""What a run leaves behind: the same records from every engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hw.isa import Work
from hw.topology import Module, TokenQueue

__all__ = ["Event", "EventKind", "ModuleCycles", "Result"]


class EventKind(Enum):
    """What happened. START and END bracket an instruction's stay in its module.

    Only an engine with time has a fetch module to tell of.
    """

    FETCH = "fetch"
    """It came to be dealt to its module's queue: it has been read, and those before it are gone."""
    DEAL = "deal"
    """It went to the queue, at once or when that had room."""

    START = "start"
    """The instruction's tokens were popped and it began."""
    END = "end"
    """Its last effect was done; its tokens were pushed in this cycle."""
    POP = "pop"
    PUSH = "push"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one instruction. `cycle` is None without time."""

    cycle: int | None
    module: Module
    instruction: int
    kind: EventKind
    queue: TokenQueue | None = None


@dataclass(frozen=True, slots=True)
class ModuleCycles:
    """How one module spent its cycles from launch to done: these and idle sum to the total."""

    busy: int
    token: int
    memory: int


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run.

    Attributes
    ----------
    cycles
        Cycles from launch to done, or None from an engine without time.
    modules
        Each module's cycles, or None likewise.
    work
        Bytes and micro-ops, a function of the program alone.
    events
        In order of time, if they were asked for; else empty.
    seconds
        Wall-clock time of the run itself.
    """

    engine: str
    cycles: int | None
    modules: dict[Module, ModuleCycles] | None
    work: Work
    events: tuple[Event, ...]
    seconds: float

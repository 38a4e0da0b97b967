"""The times of a run's instructions, from its event records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tandem.hw.isa import Program
from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.errors import EngineError
from tandem.sim.events import KINDS, EventKind, EventTable
from tandem.sim.result import Result


@dataclass(frozen=True, slots=True)
class Token:
    """A token that an instruction popped: its queue, and the instruction that pushed it."""

    queue: TokenQueue
    pushed_by: int


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When each instruction of a finished run was fetched, dispatched, started and ended.

    Attributes
    ----------
    fetch, dispatch, start, end
        Cycles, by instruction.
    units
        The unit of each instruction.
    streams
        The instructions of each unit, in the order of the program.
    ordinals
        The position of each instruction in its unit's stream.
    tokens
        The tokens that each instruction popped; instructions without any have no entry.
    cycles
        Cycles of the run.
    """

    fetch: Sequence[int]
    dispatch: Sequence[int]
    start: Sequence[int]
    end: Sequence[int]
    units: Sequence[Unit]
    streams: Mapping[Unit, Sequence[int]]
    ordinals: Sequence[int]
    tokens: Mapping[int, tuple[Token, ...]]
    cycles: int

    @staticmethod
    def of(program: Program, result: Result) -> RunTimes:
        """The times of a run of `program`.

        Tokens of a queue are alike, so that the k-th pushed is the k-th popped.

        Raises
        ------
        EngineError
            The result has no events, or its engine has no time.
        """
        if result.cycles is None:
            raise EngineError(f"causes need cycles: the {result.engine} engine has no time")
        if not result.events:
            raise EngineError("causes need a run's events: launch with events=True")
        events = result.events
        times = {kind: _times(events, kind, len(program)) for kind in _STAMPS}
        tokens: dict[int, tuple[Token, ...]] = {}
        for queue in TokenQueue:
            pops, pushes = (_moves(events, kind, queue) for kind in (EventKind.POP, EventKind.PUSH))
            # Tokens may be left in a queue at the end.
            for pop, push in zip(pops, pushes, strict=False):
                tokens[pop] = (*tokens.get(pop, ()), Token(queue, push))
        numbers = program.units()
        streams = {unit: np.flatnonzero(numbers == unit) for unit in Unit}
        ordinals = np.zeros(len(program), np.int64)
        for stream in streams.values():
            ordinals[stream] = np.arange(len(stream))
        by_number = tuple(Unit)
        return RunTimes(
            fetch=times[EventKind.FETCH],
            dispatch=times[EventKind.DISPATCH],
            start=times[EventKind.START],
            end=times[EventKind.END],
            units=[by_number[number] for number in numbers.tolist()],
            streams={unit: stream.tolist() for unit, stream in streams.items()},
            ordinals=ordinals.tolist(),
            tokens=tokens,
            cycles=result.cycles,
        )

    def before(self, instruction: int, distance: int = 1) -> int | None:
        """The instruction of the same unit `distance` places ahead; None if there is none."""
        place = self.ordinals[instruction] - distance
        return None if place < 0 else self.streams[self.units[instruction]][place]

    def last_token(self, instruction: int) -> Token | None:
        """Of the tokens that an instruction popped, the one that was pushed last."""
        tokens = self.tokens.get(instruction, ())
        return max(tokens, key=lambda token: self.end[token.pushed_by], default=None)


_STAMPS = (EventKind.FETCH, EventKind.DISPATCH, EventKind.START, EventKind.END)


def _times(events: EventTable, kind: EventKind, instructions: int) -> list[int]:
    """The cycle of each instruction's event of a kind; 0 where it has none."""
    rows = events.kind == KINDS.index(kind)
    found = np.zeros(instructions, np.int64)
    found[events.instruction[rows]] = events.cycle[rows]
    return found.tolist()


def _moves(events: EventTable, kind: EventKind, queue: TokenQueue) -> list[int]:
    """The instructions that popped or pushed a queue's tokens, in order."""
    rows = (events.kind == KINDS.index(kind)) & (events.queue == queue)
    return events.instruction[rows].tolist()

"""Events of a run: what happened to each instruction, and when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import overload

import numpy as np
import numpy.typing as npt

from tandem.hw.topology import POPS, PUSHES, TokenQueue, Unit

Ints = npt.NDArray[np.int64]
NEVER = -1
"""In place of a cycle: the event did not happen, or its engine has no time."""


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


KINDS = tuple(EventKind)
"""The kinds of events by their numbers in an `EventTable`."""
SLOTS = (
    EventKind.FETCH,
    EventKind.DISPATCH,
    EventKind.POP,
    EventKind.POP,
    EventKind.START,
    EventKind.END,
    EventKind.PUSH,
    EventKind.PUSH,
)
"""The events that an instruction can have, in their order within a cycle. Of the two pops and the
two pushes, the first is of the queue to the previous unit, the second of that to the next."""
_NO_QUEUE = -1
POP_SLOTS, PUSH_SLOTS = (2, 3), (6, 7)


def _queues() -> Ints:
    """By unit and slot, the queue of a pop or push."""
    found = np.full((len(Unit), len(SLOTS)), _NO_QUEUE, np.int64)
    for unit in Unit:
        for slot, queue in zip(POP_SLOTS + PUSH_SLOTS, POPS[unit] + PUSHES[unit], strict=True):
            found[unit, slot] = _NO_QUEUE if queue is None else queue
    return found


_QUEUES = _queues()


@dataclass(frozen=True, slots=True, eq=False)
class EventTable(Sequence[Event]):
    """The events of a run in order, as columns: a run has several for each instruction.

    Attributes
    ----------
    cycle
        int64[n]; `NEVER` from an engine without time.
    unit, instruction
        int64[n].
    kind
        int64[n], an index of `KINDS`.
    queue
        int64[n], a `TokenQueue`; -1 for an event without one.
    """

    cycle: Ints
    unit: Ints
    instruction: Ints
    kind: Ints
    queue: Ints

    @classmethod
    def of(cls, events: Iterable[Event]) -> EventTable:
        """The table of `events`, in their order."""
        rows = [
            (
                NEVER if event.cycle is None else event.cycle,
                event.unit,
                event.instruction,
                KINDS.index(event.kind),
                _NO_QUEUE if event.queue is None else event.queue,
            )
            for event in events
        ]
        return cls(*np.array(rows, np.int64).reshape(-1, 5).T.copy())

    @classmethod
    def of_times(cls, units: npt.NDArray[np.integer], times: Ints) -> EventTable:
        """The table of a program's events, ordered by cycle, unit, instruction and slot.

        Parameters
        ----------
        units
            The unit of each instruction.
        times
            int64[instructions, slots]: the cycle of each of `SLOTS`, or `NEVER`.
        """
        by_unit = np.argsort(units, kind="stable")
        cycles = times[by_unit].reshape(-1)
        happened = np.flatnonzero(cycles != NEVER)
        # Rows are in the order of units, instructions and slots, which a stable sort keeps.
        rows = happened[np.argsort(cycles[happened], kind="stable")]
        place, slot = np.divmod(rows, len(SLOTS))
        instruction = by_unit[place]
        unit = units[instruction].astype(np.int64)
        kinds = np.array([KINDS.index(kind) for kind in SLOTS])
        return cls(cycles[rows], unit, instruction, kinds[slot], _QUEUES[unit, slot])

    def __len__(self) -> int:
        return len(self.cycle)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> EventTable: ...
    def __getitem__(self, index: int | slice) -> Event | EventTable:
        columns = [column[index] for column in self._columns]
        if isinstance(index, slice):
            return EventTable(*columns)
        return _event(*(int(value) for value in columns))

    def __iter__(self) -> Iterator[Event]:
        return map(_event, *(column.tolist() for column in self._columns))

    def __eq__(self, other: object) -> bool:
        """Whether `other`, a table or another sequence, has the same events in the same order."""
        if isinstance(other, EventTable):
            return all(map(np.array_equal, self._columns, other._columns))
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def _columns(self) -> tuple[Ints, ...]:
        return self.cycle, self.unit, self.instruction, self.kind, self.queue


_UNITS, _TOKENS = tuple(Unit), tuple(TokenQueue)


def _event(cycle: int, unit: int, instruction: int, kind: int, queue: int) -> Event:
    return Event(
        None if cycle == NEVER else cycle,
        _UNITS[unit],
        instruction,
        KINDS[kind],
        None if queue == _NO_QUEUE else _TOKENS[queue],
    )

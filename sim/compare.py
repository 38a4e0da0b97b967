"""Runs of two engines compared: whether they agree, and where they first differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

import numpy as np

from tandem.hw.isa import MemoryId, Program, disassemble
from tandem.hw.topology import Unit
from tandem.sim.engine import Bytes, Launch
from tandem.sim.events import Event, EventTable
from tandem.sim.result import Result

Value: TypeAlias = int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A quantity on which two engines disagree.

    Attributes
    ----------
    instruction, text
        Index and disassembly of the instruction; None for a quantity of the whole run.
    unit
        The instruction's unit, or the unit that a counter belongs to; None for the whole run.
    event
        What differs: an event (`start`, `push load->compute`), `cycles`, a counter (`busy cycles`),
        or a byte of memory (`byte at 0x1000`).
    values
        The value of each engine: the event's cycle, the count or the byte; None where an engine
        lacks the event.
    """

    instruction: int | None
    text: str | None
    unit: Unit | None
    event: str
    values: tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing two engines on one launch.

    Attributes
    ----------
    engines
        The engines' names.
    has_time
        Whether both engines tell time; if not, only memory was compared.
    differences
        The first difference of each kind: of events, cycles, counters and bytes, in this order.
    """

    engines: tuple[str, str]
    has_time: bool
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Whether the engines agree on everything compared."""
        return not self.differences

    @property
    def first(self) -> Difference | None:
        """The first difference; None if there is none."""
        return self.differences[0] if self.differences else None


def compare_runs(
    program: Program,
    how: Launch,
    results: tuple[Result, Result],
    memories: tuple[Bytes, Bytes],
) -> Comparison:
    """Compare two engines' results of one launch, and the memories that they left."""
    first, second = results
    has_time = first.cycles is not None and second.cycles is not None
    found = [
        *(_first_event(program, first.events, second.events) if has_time else ()),
        *(_cycles(first, second) if has_time else ()),
        *(_first_counter(first, second) if has_time else ()),
        *_first_byte(program, how, memories),
    ]
    return Comparison((first.engine, second.engine), has_time, tuple(found))


_EventKey: TypeAlias = tuple[object, ...]


def _first_event(program: Program, first: EventTable, second: EventTable) -> Iterator[Difference]:
    """The earliest event that has another time, or is missing on one side."""
    if first == second:
        return
    times: list[dict[_EventKey, Event]] = [
        {(event.instruction, event.kind, event.queue): event for event in events}
        for events in (first, second)
    ]
    pairs = ((times[0].get(key), times[1].get(key)) for key in {**times[0], **times[1]})
    apart = [pair for pair in pairs if pair[0] != pair[1]]
    # With no event apart, the engines disagree on the order of simultaneous events.
    apart = apart or [pair for pair in zip_longest(first, second) if pair[0] != pair[1]]
    pair = min(apart, key=_earliest)
    event = next(event for event in pair if event is not None)
    queue = "" if event.queue is None else f" {event.queue}"
    a, b = (None if event is None else event.cycle for event in pair)
    yield _of_instruction(program, event.instruction, f"{event.kind.value}{queue}", (a, b))


def _earliest(pair: tuple[Event | None, Event | None]) -> tuple[int, int]:
    """The cycle of the earlier event, and its instruction."""
    return min((event.cycle or 0, event.instruction) for event in pair if event is not None)


def _cycles(first: Result, second: Result) -> Iterator[Difference]:
    if first.cycles != second.cycles:
        yield Difference(None, None, None, "cycles", (first.cycles, second.cycles))


def _first_counter(first: Result, second: Result) -> Iterator[Difference]:
    """The first counter that differs of engines with time."""
    if first.units is None or second.units is None:
        return
    for unit, spent in first.units.items():
        other = second.units[unit]
        for event, a, b in (
            ("busy cycles", spent.busy, other.busy),
            ("cycles without a token", spent.token, other.token),
            ("cycles without memory", spent.memory, other.memory),
        ):
            if a != b:
                yield Difference(None, None, unit, event, (a, b))
                return


def _first_byte(
    program: Program, how: Launch, memories: tuple[Bytes, Bytes]
) -> Iterator[Difference]:
    """The first byte that differs of the earliest STORE that wrote any."""
    first, second = memories
    if np.array_equal(first, second):
        return
    differs = first != second
    instruction, at = _store_to(program, how.bases[MemoryId.OUT], differs)
    values = int(first[at]), int(second[at])
    yield _of_instruction(program, instruction, f"byte at {at:#x}", values)


def _store_to(
    program: Program, base: int, marked: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[int | None, int]:
    """The earliest STORE of marked bytes, and the first marked byte that it writes; without such a
    STORE the first marked byte."""
    columns, size = program.columns(), program.config.element_bytes(MemoryId.OUT)
    before = np.concatenate(([0], np.cumsum(marked)))
    for index in np.flatnonzero(program.units() == Unit.STORE).tolist():
        rows = np.arange(columns.y_size[index]) * columns.x_stride[index]
        starts = base + (columns.dram_base[index] + rows) * size
        ends = starts + columns.x_size[index] * size
        written = before[ends] > before[starts]
        if written.any():
            start = int(starts[np.argmax(written)])
            return index, start + int(np.argmax(marked[start:]))
    return None, int(np.argmax(marked))


def _of_instruction(
    program: Program, instruction: int | None, event: str, values: tuple[Value, Value]
) -> Difference:
    if instruction is None:
        return Difference(None, None, None, event, values)
    unit = Unit(int(program.units()[instruction]))
    line = disassemble(Program(program.config, program.word(instruction))).strip()
    text = " ".join(line.split()[1:])
    return Difference(instruction, text, unit, event, values)

"""Checks the dependence tokens of a program by an untimed execution.

Each unit executes its own instructions in order. An instruction waits in its unit's queue until
every token that it pops is there, then leaves that queue and pushes its own tokens. Dispatch moves
instructions to the queues in program order; a full queue blocks all instructions behind it. More
tokens or more free entries never stop an instruction, so that every timing ends in the same state,
and a token queue is fullest if its consumer moves only when nothing else can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa.columns import Columns, Ints, units_of
from tandem.hw.topology import MAX_TOKENS, POPS, PUSHES, TOKEN_FLAGS, TokenQueue, Unit

_NOWHERE = len(TokenQueue)
"""The index of a dummy queue, never empty, for flags that are not set."""


def check_tokens(config: HardwareConfig, columns: Columns, *, limit: int = MAX_TOKENS) -> None:
    """Raise an error if tokens overflow a counter, deadlock the program, or are left at its end.
    Every instruction must be legal. A counter holds `limit` tokens.

    Raises
    ------
    ProgramError
        TOKEN_OVERFLOW (in some timing) or TOKENS_LEFT.
    DeadlockError
        The program deadlocks, in every timing.
    """
    depth = config.instruction_queue
    if _flow_in_order(columns, depth, limit):
        return
    streams = _streams(columns)
    overflows = [
        (_Run(streams, depth).overflow(queue, limit), queue)
        for queue in TokenQueue
        if streams.pushed[queue] > limit
    ]
    found = [(position, queue) for position, queue in overflows if position is not None]
    if found:
        position, queue = min(found)
        raise ProgramError(
            Fault.TOKEN_OVERFLOW,
            position,
            f"its token {queue} can be number {limit + 1} of those not popped yet: "
            f"a counter holds {limit}",
        )
    error = _wrong_end(_Run(streams, depth))
    if error is not None:
        raise error


def wrong_end(config: HardwareConfig, columns: Columns) -> ProgramError | None:
    """The error of a program that deadlocks, or that leaves tokens at its end; None for another.
    Counters are taken to hold any number of tokens."""
    return _wrong_end(_Run(_streams(columns), config.instruction_queue))


def _wrong_end(run: _Run) -> ProgramError | None:
    run.finish()
    if run.stuck:
        return DeadlockError(run.waits())
    left = [(queue, run.counts[queue]) for queue in TokenQueue if run.counts[queue]]
    if not left:
        return None
    rest = ", ".join(f"{count} in {queue}" for queue, count in left)
    return ProgramError(Fault.TOKENS_LEFT, None, f"tokens are left at the end: {rest}")


def _flow_in_order(columns: Columns, depth: int, limit: int) -> bool:
    """Whether the program's own order shows that its tokens are right; nearly all programs' does.

    If each token is pushed before it is popped in program order, the instructions can execute in
    this order, one after the other. A timing in which the program ends is enough, as every timing
    ends in the same state.
    """
    units = units_of(columns)
    for queue in TokenQueue:
        producer, consumer = queue.producer, queue.consumer
        push_flag = TOKEN_FLAGS[len(POPS[producer]) + PUSHES[producer].index(queue)]
        pop_flag = TOKEN_FLAGS[POPS[consumer].index(queue)]
        pushes = (units == producer) & (getattr(columns, push_flag) != 0)
        pops = (units == consumer) & (getattr(columns, pop_flag) != 0)
        tokens = np.cumsum(pushes.view(np.int8) - pops.view(np.int8), dtype=np.int64)
        if tokens[-1] or tokens.min() < 0:
            return False
        if np.count_nonzero(pushes) > limit:
            if _most_tokens(units == consumer, pushes, pops, depth) > limit:
                return False
    return True


def _most_tokens(
    consumers: npt.NDArray[np.bool_],
    pushes: npt.NDArray[np.bool_],
    pops: npt.NDArray[np.bool_],
    depth: int,
) -> int:
    """A bound of the tokens that a queue holds in any timing.

    When an instruction pushes, all instructions before it are dispatched, and of those of the
    consumer at most `depth` wait in its queue: the others have popped.
    """
    popped = np.concatenate(([0], np.cumsum(pops[consumers])))
    dispatched = np.cumsum(consumers)[pushes]
    pushed = np.arange(1, len(dispatched) + 1)
    return int((pushed - popped[np.maximum(dispatched - depth, 0)]).max())


@dataclass(frozen=True, slots=True)
class _Streams:
    """The instructions of each unit, with the token queues that they pop and push."""

    units: list[int]
    """By instruction, the unit that executes it."""
    places: list[int]
    """By instruction, its index among the instructions of the same unit."""
    positions: tuple[list[int], ...]
    """By unit: the instructions' positions in the program."""
    queues: tuple[list[tuple[int, int, int, int]], ...]
    """By unit: the two queues that each instruction pops and the two queues that it pushes."""
    pushed: list[int]
    """By token queue: how many tokens the program pushes."""


def _streams(columns: Columns) -> _Streams:
    units = units_of(columns)
    places = np.zeros(len(units), dtype=np.int64)
    positions, queues = [], []
    pushed = np.zeros(len(TokenQueue) + 1, dtype=np.int64)
    flag_columns = [getattr(columns, flag) for flag in TOKEN_FLAGS]
    for unit in Unit:
        own = np.flatnonzero(units == unit)
        places[own] = np.arange(len(own))
        positions.append(own.tolist())
        ends = [
            np.where(flags[own] != 0, _NOWHERE if queue is None else queue, _NOWHERE)
            for flags, queue in zip(flag_columns, POPS[unit] + PUSHES[unit], strict=True)
        ]
        pushed += _count(ends[2]) + _count(ends[3])
        queues.append(list(zip(*(end.tolist() for end in ends), strict=True)))
    return _Streams(
        units.tolist(), places.tolist(), tuple(positions), tuple(queues), pushed.tolist()
    )


def _count(queues: Ints) -> Ints:
    return np.bincount(queues, minlength=len(TokenQueue) + 1)


class _Run:
    """An execution: the progress of each unit, and the tokens in each queue."""

    def __init__(self, streams: _Streams, depth: int) -> None:
        self.streams = streams
        self.depth = depth
        self.counts = [0] * len(TokenQueue) + [1 << 60]
        self.issued = [0, 0, 0]
        """By unit: the number of instructions dispatched to its queue."""
        self.started = [0, 0, 0]
        """By unit: the number of instructions that left its queue."""
        self.dispatched = 0

    @property
    def stuck(self) -> bool:
        """Whether instructions remain."""
        return sum(self.started) < len(self.streams.units)

    def finish(self) -> None:
        """Run until no instruction can start."""
        while self._dispatch() | any([self._advance(unit) for unit in Unit]):
            pass

    def overflow(self, queue: TokenQueue, limit: int) -> int | None:
        """Run with the consumer of `queue` as late as possible; returns the position of the
        instruction that pushes more than `limit` tokens, or None."""
        others = [unit for unit in Unit if unit is not queue.consumer]
        while True:
            while self._dispatch() | any([self._advance(unit) for unit in others]):
                if self.counts[queue] > limit:
                    return self._pusher(queue, self.counts[queue] - limit)
            if not self._advance(queue.consumer, most=1):
                return None

    def waits(self) -> tuple[UnitWait, ...]:
        """For each unit, the waiting instruction and the token queues that it waits for."""
        return tuple(self._wait(unit) for unit in Unit)

    def _wait(self, unit: Unit) -> UnitWait:
        started = self.started[unit]
        if started == self.issued[unit]:
            return UnitWait(unit, None, ())
        missing = {
            TokenQueue(queue)
            for queue in self.streams.queues[unit][started][:2]
            if not self.counts[queue]
        }
        position = self.streams.positions[unit][started]
        return UnitWait(unit, position, tuple(sorted(missing)))

    def _dispatch(self) -> bool:
        """Dispatch until an instruction meets a full queue; returns whether any was dispatched."""
        units, places = self.streams.units, self.streams.places
        issued, started, depth = self.issued, self.started, self.depth
        position, end = self.dispatched, len(units)
        while position < end:
            unit = units[position]
            if places[position] - started[unit] >= depth:
                break
            issued[unit] += 1
            position += 1
        moved = position > self.dispatched
        self.dispatched = position
        return moved

    def _advance(self, unit: Unit, most: int | None = None) -> bool:
        """Execute at most `most` instructions of `unit`; returns whether any executed."""
        counts, queues = self.counts, self.streams.queues[unit]
        first = self.started[unit]
        end = self.issued[unit] if most is None else min(self.issued[unit], first + most)
        position = first
        while position < end:
            pop_a, pop_b, push_a, push_b = queues[position]
            if not (counts[pop_a] and counts[pop_b]):
                break
            counts[pop_a] -= 1
            counts[pop_b] -= 1
            counts[push_a] += 1
            counts[push_b] += 1
            position += 1
        self.started[unit] = position
        return position > first

    def _pusher(self, queue: TokenQueue, excess: int) -> int:
        """The position of the instruction that pushed the first of the last `excess` tokens."""
        producer = queue.producer
        place = self.started[producer]
        while excess:
            place -= 1
            excess -= queue in self.streams.queues[producer][place][2:]
        return self.streams.positions[producer][place]

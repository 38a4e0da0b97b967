"""The critical path of a run: the chain of events that made it as long as it was.

An instruction starts in the first cycle in which it is dispatched, has its tokens, and its unit is
ready (rule 4 of docs/timing.md). So the events tell which of these came last: a
token that was pushed, or a dispatch, in the cycle before; if neither, the unit was busy with the
instruction ahead. `critical_path` walks back along these from an event to an earlier cycle. The
edges that it finds lie end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tandem.hw.isa import Program
from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.why.causes import Cause, activities
from tandem.sim.why.times import RunTimes


class EdgeKind(Enum):
    """The kinds of edges of a critical path; values are labels for display."""

    GEMM = "products"
    RESET = "resets"
    ALU = "ALU"
    COMPUTE_LOAD = "loads by compute"
    LOAD = "loads"
    BUS = "bus busy with others"
    """A LOAD that takes longer than alone, because bursts of others are read in between."""
    STORE = "stores"
    TOKEN = "tokens"
    """The cycle from a push to the start of the instruction that pops, and instructions that only
    carry tokens."""
    QUEUE = "full queues"
    """An instruction that waited for space in its unit's queue."""
    FETCH = "fetch"
    OTHER = "start and end"


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of a critical path, from cycle `start` to cycle `end`.

    Attributes
    ----------
    instruction
        The instruction whose execution, fetch or dispatch it is; of a token, the one that pops.
    queue
        The queue of a token from push to pop; None for other edges.
    """

    kind: EdgeKind
    start: int
    end: int
    instruction: int
    queue: TokenQueue | None = None

    @property
    def cycles(self) -> int:
        """The length of the edge."""
        return self.end - self.start


Alone = Callable[[int], int]
"""The cycles from start to end of a LOAD, by instruction, on an otherwise idle bus."""


@dataclass(frozen=True, slots=True)
class PathFinder:
    """Finds critical paths in a run.

    Attributes
    ----------
    alone
        Splits LOADs: what they take longer than alone is an edge `BUS`. None leaves them whole.
    """

    times: RunTimes
    queue_depth: int
    kinds: Sequence[EdgeKind]
    alone: Alone | None = None

    @staticmethod
    def of(program: Program, times: RunTimes, alone: Alone | None = None) -> PathFinder:
        """A finder for a run of `program`."""
        kinds = [_KINDS[activity] for activity in activities(program)]
        return PathFinder(times, program.config.instruction_queue, kinds, alone)

    def path(self, begin: int, end: int) -> tuple[Edge, ...]:
        """The critical path between two cycles, in order of time.

        `end` is the cycle in which an instruction of compute ends, or the cycles of the run. The
        edges lie end to end from `begin` to `end`; the first may be cut off.
        """
        edges: list[Edge] = []
        for edge in self._back(end):
            if edge.end <= begin:
                break
            if edge.end > edge.start:
                edges.append(replace(edge, start=max(edge.start, begin)))
        return tuple(reversed(edges))

    def _back(self, end: int) -> Iterator[Edge]:
        """Edges from cycle `end` back to the begin of the run."""
        times = self.times
        if end == times.cycles:
            at = max(range(len(times.end)), key=times.end.__getitem__)
            yield Edge(EdgeKind.OTHER, times.end[at], end, at)
        else:
            compute = times.streams[Unit.COMPUTE]
            at = next(number for number in reversed(compute) if times.end[number] == end)
        yield from self._execution(at, times.end[at])
        while True:
            start, token = times.start[at], times.last_token(at)
            previous = times.before(at)
            if token is not None and times.end[token.pushed_by] == start - 1:
                yield Edge(EdgeKind.TOKEN, start - 1, start, at, token.queue)
                at = token.pushed_by
                yield from self._execution(at, start - 1)
            elif times.dispatch[at] == start - 1 or previous is None:
                yield Edge(EdgeKind.FETCH, times.dispatch[at], start, at)
                waiting = yield from self._dispatch(at)
                if waiting is None:
                    return
                at = waiting
            else:
                yield from self._execution(previous, start)
                at = previous

    def _execution(self, instruction: int, until: int) -> Iterator[Edge]:
        """What an instruction does from its start until a later cycle, last edge first."""
        start, kind = self.times.start[instruction], self.kinds[instruction]
        own = start
        if kind in (EdgeKind.LOAD, EdgeKind.COMPUTE_LOAD) and self.alone is not None:
            taken = self.times.end[instruction] - start
            own = min(start + max(taken - self.alone(instruction), 0), until)
        yield Edge(kind, own, until, instruction)
        yield Edge(EdgeKind.BUS, start, own, instruction)

    def _dispatch(self, instruction: int) -> Generator[Edge, None, int | None]:
        """Edges back from the dispatch of an instruction; returns the instruction whose start made
        space in a queue, or None if the walk came to the begin of the run."""
        times = self.times
        for at in range(instruction, -1, -1):
            dispatched, fetched = times.dispatch[at], times.fetch[at]
            if dispatched > fetched:
                freed = times.before(at, self.queue_depth)
                assert freed is not None, "only a full queue delays a dispatch"
                yield Edge(EdgeKind.QUEUE, times.start[freed], dispatched, at)
                return freed
            # Fetched in order: what is between is the time that this one took to arrive.
            earlier = times.dispatch[at - 1] if at else 0
            yield Edge(EdgeKind.FETCH, earlier, dispatched, at)
        return None


_KINDS = {
    Cause.GEMM: EdgeKind.GEMM,
    Cause.RESET: EdgeKind.RESET,
    Cause.ALU: EdgeKind.ALU,
    Cause.LOAD: EdgeKind.COMPUTE_LOAD,
    Cause.WAIT_LOAD: EdgeKind.LOAD,
    Cause.WAIT_STORE: EdgeKind.STORE,
    Cause.WAIT_TOKEN: EdgeKind.TOKEN,
    Cause.OTHER: EdgeKind.OTHER,
}
"""The kinds of the edges on which instructions execute, by their activities."""

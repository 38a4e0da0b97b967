"""The times of a run's instructions, from its event records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hw.isa import Program
from hw.topology import TokenQueue, Unit
from sim.errors import EngineError
from sim.result import EventKind, Result


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
        times = {kind: [0] * len(program) for kind in EventKind}
        pushes: dict[TokenQueue, list[int]] = defaultdict(list)
        pops: dict[TokenQueue, list[int]] = defaultdict(list)
        for event in result.events:
            if event.queue is None:
                assert event.cycle is not None, "an engine with cycles stamps its events"
                times[event.kind][event.instruction] = event.cycle
            else:
                side = pushes if event.kind is EventKind.PUSH else pops
                side[event.queue].append(event.instruction)
        tokens: dict[int, tuple[Token, ...]] = {}
        for queue in pops:
            # Tokens may be left in a queue at the end.
            for pop, push in zip(pops[queue], pushes[queue], strict=False):
                tokens[pop] = (*tokens.get(pop, ()), Token(queue, push))
        units = [Unit(number) for number in program.units().tolist()]
        streams: dict[Unit, list[int]] = {unit: [] for unit in Unit}
        ordinals = []
        for instruction, unit in enumerate(units):
            ordinals.append(len(streams[unit]))
            streams[unit].append(instruction)
        return RunTimes(
            fetch=times[EventKind.FETCH],
            dispatch=times[EventKind.DISPATCH],
            start=times[EventKind.START],
            end=times[EventKind.END],
            units=units,
            streams=streams,
            ordinals=ordinals,
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

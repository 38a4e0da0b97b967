"""Two engines as one, which runs each launch on both and compares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from tandem.hw.errors import DeadlockError, ProgramError
from tandem.hw.isa import Program
from tandem.sim.compare import Comparison, compare_runs
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.errors import BusError, CycleLimitError, EngineError, EnginesDifferError
from tandem.sim.result import Result

ProgramFailure: TypeAlias = ProgramError | BusError | CycleLimitError
"""The errors that end the run of a program."""


class EnginePair:
    """Two engines of one configuration as one: both run each launch, and are compared.

    Results and memory are those of the first engine; `report` receives the comparison of each
    launch that both finish.
    Engines without time are compared in memory alone. A waveform is the first engine's.

    A program that fails with the same error on both raises the first engine's error. Engines
    without time find faults in another order: of them only whether a program fails is compared,
    and not by a limit of cycles.
    """

    def __init__(self, first: Engine, second: Engine, report: Callable[[Comparison], None]) -> None:
        if first.config != second.config:
            raise EngineError(
                f"the engines {first.name} and {second.name} are of different configurations"
            )
        self.config = first.config
        self.memory_model = first.memory_model
        self.has_time = first.has_time
        self._engines = first, second
        self._report = report

    @property
    def name(self) -> str:
        """The first engine's name."""
        return self._engines[0].name

    def close(self) -> None:
        """Free both machines."""
        for engine in self._engines:
            engine.close()

    def prepare(self, data: bool = True) -> None:
        """Prepare both engines."""
        for engine in self._engines:
            engine.prepare(data)

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        """Run `program` on both engines; see `sim.engine.Engine.launch`.

        Raises
        ------
        EnginesDifferError
            The program fails on one engine only, or with another error.
        """
        first, second = self._engines
        names = first.name, second.name
        has_time = first.has_time and second.has_time
        how = replace(how, events=how.events or has_time)
        other_memory = memory.copy()
        found = run_to_end(first, program, memory, how)
        other = run_to_end(second, program, other_memory, replace(how, waveform=None))
        if isinstance(found, Result) and isinstance(other, Result):
            memories = memory, other_memory
            self._report(compare_runs(program, how, (found, other), memories))
            return found
        raise _failure(names, has_time, found, other)


def _failure(
    names: tuple[str, str],
    has_time: bool,
    found: Result | ProgramFailure,
    other: Result | ProgramFailure,
) -> Exception:
    """The error of a launch that failed on one of two engines, or on both."""
    agree = ending_of(found) == ending_of(other)
    if not has_time:
        failures = [each for each in (found, other) if not isinstance(each, Result)]
        limits = [each for each in failures if isinstance(each, CycleLimitError)]
        if limits:
            return limits[0]
        agree = len(failures) == 2
    if agree and not isinstance(found, Result):
        return found
    ends = (f"{name}: {_say(end)}" for name, end in zip(names, (found, other), strict=True))
    return EnginesDifferError(f"{names[0]} and {names[1]} end differently: {'; '.join(ends)}")


def ending_of(outcome: Result | ProgramFailure) -> tuple[object, ...]:
    """How a run ended, to be compared: its cycles, or the kind and place of its error."""
    match outcome:
        case Result(cycles=cycles):
            return ("done", cycles)
        case CycleLimitError():
            return ("limit", str(outcome))
        case DeadlockError(waits=waits):
            return ("deadlock", waits)
        case ProgramError(fault=fault, instruction=instruction):
            return (fault.name, instruction)
        case BusError(instruction=instruction, write=write):
            return ("bus", instruction, write)


def run_to_end(
    engine: Engine, program: Program, memory: Bytes, how: Launch
) -> Result | ProgramFailure:
    """The result of a launch, or the error of the program that ended it."""
    try:
        return engine.launch(program, memory, how)
    except (ProgramError, BusError, CycleLimitError) as error:
        return error


def _say(outcome: Result | ProgramFailure) -> str:
    match outcome:
        case Result(cycles=None):
            return "done"
        case Result(cycles=cycles):
            return f"done after {cycles:,} cycles"
        case error:
            return str(error)

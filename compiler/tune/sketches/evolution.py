"""Mutation and crossover of the traces of sketches."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.choosers import Chooser, Replayed, Sampled, Varied
from tandem.compiler.tune.sketches.generate import Sketch, generate
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace

_ATTEMPTS: Final = 16
"""Sketches that are drawn for one that is legal."""
_FRESH: Final = 3
"""The most decisions that a mutation draws anew."""
_NEAR: Final = 0.5
"""The part of random sketches whose stages are computed near their readers."""

Accept: TypeAlias = Callable[[Sketch], None]
"""Raises `ScheduleError` or another error of the compiler for a sketch that cannot be lowered."""


class Breeder:
    """Makes legal sketches of one computation.

    Parameters
    ----------
    start, rules, constants
        As of `generate`.
    """

    def __init__(
        self, start: Schedule, rules: SketchRules, constants: frozenset[str], random: Random
    ) -> None:
        self._start, self._rules, self._constants = start, rules, constants
        self._random = random
        self.refused = 0
        """Sketches that could not be scheduled so far."""

    def replay(self, trace: SketchTrace) -> Sketch:
        """The sketch of a trace. Raises as `generate`, and `ReplayError` for decisions that the
        trace has too many."""
        return replay(self._start, self._rules, self._constants, trace)

    def sample(self) -> Sketch | None:
        """A random sketch; None if none of some was legal."""
        near = self._random.random() < _NEAR
        return self._first_legal(lambda: Sampled(self._random, near))

    def mutate(self, parent: SketchTrace) -> Sketch | None:
        """A sketch that differs from a trace in some decisions, and in those that follow from
        them; None if none of some was legal."""
        names = [each.name for each in parent.decisions]
        if not names:
            return self.sample()

        def child() -> Chooser:
            count = self._random.randint(1, min(_FRESH, len(names)))
            fresh = frozenset(self._random.sample(names, count))
            return Varied(parent.choice, fresh, self._random)

        return self._first_legal(child, parent)

    def cross(self, mother: SketchTrace, father: SketchTrace) -> Sketch | None:
        """A sketch whose decisions are of one parent or the other, those of a stage together;
        None if none of some was legal."""
        stages = sorted({each.name.partition(".")[0] for each in mother.decisions})

        def child() -> Chooser:
            of_father = {stage for stage in stages if self._random.random() < 0.5}
            values = mother.choice | {
                name: value
                for name, value in father.choice.items()
                if name.partition(".")[0] in of_father or self._random.random() < 0.2
            }
            return Varied(values, frozenset(), self._random)

        return self._first_legal(child)

    def _first_legal(
        self, chooser: Callable[[], Chooser], other_than: SketchTrace | None = None
    ) -> Sketch | None:
        for _ in range(_ATTEMPTS):
            try:
                found = generate(self._start, self._rules, self._constants, chooser())
            except ScheduleError:
                self.refused += 1
                continue
            if found.trace != other_than:
                return found
        return None


def replay(
    start: Schedule, rules: SketchRules, constants: frozenset[str], trace: SketchTrace
) -> Sketch:
    """The sketch of a trace.

    Raises
    ------
    ReplayError
        The trace is not of this program and these rules: a decision is missing, has another value
        than the allowed ones, or is not asked for.
    ScheduleError
        A decision cannot be carried out.
    """
    found = generate(start, rules, constants, Replayed.of(trace))
    extra = trace.choice.keys() - found.trace.choice.keys()
    if extra:
        raise ReplayError(f"the trace decides {', '.join(sorted(extra))}, which nothing asks for")
    return found

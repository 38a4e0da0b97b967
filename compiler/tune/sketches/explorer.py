"""The explorer of sketches: evolution of traces, ranked by a learned model of their programs.

Ansor (Zheng et al., OSDI 2020, section 5) evolves complete programs in the same way: the best
measured ones are mutated and crossed, a model that learns from measurements ranks the children, and
the best of them are measured, with some at random.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Final

import numpy as np

from tandem.compiler.errors import CompilerError
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.plan.space import Bools, Floats
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.boosted_trees import BoostedTrees, Measured
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import Breeder
from tandem.compiler.tune.sketches.generate import Sketch
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.template import SKETCHES
from tandem.compiler.tune.sketches.trace import SketchTrace
from tandem.compiler.tune.sketches.vectors import ProgramNumbers, program_numbers
from tandem.compiler.tune.trial import Trial

SPACE: Final = "sketches"
"""The name of the space of sketches."""
FIRST: Final = 16
"""Random sketches that are measured before the first training."""
FIRST_DRAWN: Final = 4
"""Random sketches that are drawn for one that is measured before."""
FIRST_AT_RANDOM: Final = 0.5
"""The part of a batch before the first training that is drawn regardless of its steps."""
ELITE: Final = 12
"""The best measured sketches, which have children."""
CHILDREN: Final = 6
"""Sketches that are made anew for one that is measured."""
KEPT: Final = 64
"""The best ranked sketches without a measurement that are kept for the next batch."""
AT_RANDOM: Final = 0.15
"""The part of a later batch that is drawn regardless of its rank."""
_EMPTY: Final = 4
"""How often no new sketch is found in a row before the search is complete."""

Lower = Callable[[Schedule], PrimFunc]
"""The plain program of a schedule, with all constants known. Raises an error of the compiler for
one that the machine cannot run, or that is too long."""


@dataclass(eq=False)
class SketchTable:
    """The sketches that were proposed so far, a row for each.

    Attributes
    ----------
    numbers
        What the learned model reads of each.
    """

    template: ScheduleTemplate[Computation, SketchRules] = SKETCHES
    space: str = SPACE
    traces: list[SketchTrace] = field(default_factory=list)
    numbers: list[ProgramNumbers] = field(default_factory=list)

    listed: ClassVar[bool] = False
    """Other sketches can be drawn at any time."""

    def __len__(self) -> int:
        return len(self.traces)

    def choice(self, row: int) -> dict[str, Setting]:
        """The decisions of a row."""
        return self.traces[row].choice

    def row(self, choice: Choice) -> int | None:
        """The row of a choice; None if it is no sketch that was proposed."""
        return next((row for row, one in enumerate(self.traces) if one.choice == choice), None)

    @property
    def bounds(self) -> Floats:
        """A lower bound of each sketch's cost: 0, for none is known."""
        return np.zeros(len(self))


class SketchExplorer:
    """Proposes sketches of a computation; see `Search`.

    Everything random comes from the seed: equal outcomes lead to equal proposals.

    Parameters
    ----------
    lower
        Called with each sketch's schedule; a sketch for which it raises an error of the compiler is
        refused, and never measured.
    """

    patience = float("inf")

    def __init__(
        self, computation: Computation, rules: SketchRules, lower: Lower, seed: int
    ) -> None:
        self.table = SketchTable()
        self.best = float("inf")
        """The lowest measured cost."""
        self.refused = 0
        """Sketches that could not be lowered so far."""
        self._lower, self._bits = lower, rules.register_bits
        self._random = Random(f"sketches {seed}")
        self._breeder = Breeder(
            computation.start(), rules, computation.constant_names, self._random
        )
        self._model = BoostedTrees(seed)
        self._costs: dict[int, float] = {}
        self._waiting: dict[SketchTrace, ProgramNumbers] = {}
        self._known: set[SketchTrace] = set()

    @property
    def seen(self) -> Bools:
        """The rows with a trial."""
        found = np.zeros(len(self.table), np.bool_)
        found[list(self._costs)] = True
        return found

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take note of trials."""
        for trial in trials:
            self._costs[trial.row] = trial.outcome.cost
            self.best = min(self.best, trial.outcome.cost)

    def propose(self, count: int) -> Sequence[int]:
        """At most `count` rows without a trial; none if no new sketch is found."""
        started = len(self._costs) >= FIRST and np.isfinite(list(self._costs.values())).any()
        wanted = count * (CHILDREN if started else FIRST_DRAWN)
        empty = 0
        while wanted > 0 and empty < _EMPTY:
            fresh = self._add(self._bred() if started else self._breeder.sample())
            empty = 0 if fresh else empty + 1
            wanted -= fresh
        if not self._waiting:
            return ()
        traces = self._ranked() if started else self._by_steps()
        part = AT_RANDOM if started else FIRST_AT_RANDOM
        at_random = sum(self._random.random() < part for _ in range(count))
        chosen = traces[: max(0, count - at_random)]
        rest = traces[len(chosen) :]
        chosen += self._random.sample(rest, min(count - len(chosen), len(rest)))
        rows = []
        for trace in chosen:
            rows.append(len(self.table))
            self.table.traces.append(trace)
            self.table.numbers.append(self._waiting.pop(trace))
        kept = [trace for trace in traces if trace in self._waiting][:KEPT]
        self._waiting = {trace: self._waiting[trace] for trace in kept}
        return rows

    def _bred(self) -> Sketch | None:
        """A child of the best measured sketches, or a random sketch."""
        finite = sorted(
            (row for row, cost in self._costs.items() if np.isfinite(cost)),
            key=lambda row: (self._costs[row], row),
        )
        elite = [self.table.traces[row] for row in finite[:ELITE]]
        # Better ones have more children.
        one, other = (
            elite[min(self._random.randrange(len(elite)) for _ in range(2))] for _ in range(2)
        )
        drawn = self._random.random()
        if drawn < 0.65:
            return self._breeder.mutate(one)
        if drawn < 0.85 and one != other:
            return self._breeder.cross(one, other)
        return self._breeder.sample()

    def _add(self, sketch: Sketch | None) -> bool:
        """Keep a sketch for measuring if it is new and can be lowered."""
        if sketch is None or sketch.trace in self._known:
            return False
        self._known.add(sketch.trace)
        try:
            program = self._lower(sketch.schedule)
        except CompilerError:
            self.refused += 1
            return False
        self._waiting[sketch.trace] = program_numbers(program, self._bits)
        return True

    def _by_steps(self) -> list[SketchTrace]:
        """Sketches without a measurement, those of the fewest steps first."""
        return sorted(self._waiting, key=lambda trace: self._waiting[trace].steps)

    def _ranked(self) -> list[SketchTrace]:
        """Sketches without a measurement, those of the lowest predicted cost first."""
        rows = list(self._costs)
        costs = np.array([self._costs[row] for row in rows])
        features, steps = _columns([self.table.numbers[row] for row in rows])
        self._model.train([Measured(features, costs, steps)])
        scores = self._model.scores(*_columns(self._waiting.values()))
        waiting = list(self._waiting)
        return [waiting[at] for at in np.argsort(-scores, kind="stable")]


def _columns(numbers: Collection[ProgramNumbers]) -> tuple[Floats, Floats]:
    """Vectors, [programs, numbers], and steps, [programs]."""
    return np.stack([each.vector for each in numbers]), np.array([each.steps for each in numbers])

"""The measured programs of a layer, and what cost models read of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import process_time
from typing import Final, TypeVar

import numpy as np

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower.lowering import lower
from tandem.compiler.plan.space import Floats
from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.loop_trees import LoopTree, loop_tree
from tandem.compiler.tune.sketches.vectors import program_numbers
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.tree_rnn import MeasuredPrograms
from tandem.scripts.bench.tuning_model import Ranking

_REGISTER_BITS: Final = 512
"""Of program vectors, which count registers of lanes; programs of the accelerator have no lanes."""

T = TypeVar("T")


@dataclass(frozen=True)
class Programs:
    """Measured programs, in the order of the ranking's rows.

    Attributes
    ----------
    seconds
        CPU seconds a program, of what was made so far, by name.
    """

    task: Task
    ranking: Ranking
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def references(self) -> Floats:
        """What learned models correct."""
        return self.ranking.candidates.references[self.ranking.rows]

    @cached_property
    def lowered(self) -> list[PrimFunc]:
        """The programs, as loops around instructions."""
        task, candidates = self.task, self.ranking.candidates
        machine = task.target.machine

        def program(row: int) -> PrimFunc:
            choice = candidates.choice(row)
            schedule = task.template.schedule(task.workload, choice, machine)
            return lower(schedule.program, task.target.passes)

        return self._timed("lowered", lambda: [program(row) for row in self.ranking.rows.tolist()])

    @cached_property
    def vectors(self) -> Floats:
        """Features of programs."""
        programs = self.lowered
        return self._timed(
            "vectors",
            lambda: np.stack([program_numbers(each, _REGISTER_BITS).vector for each in programs]),
        )

    @cached_property
    def trees(self) -> tuple[LoopTree, ...]:
        """Trees of loops."""
        programs = self.lowered
        return self._timed("trees", lambda: tuple(map(loop_tree, programs)))

    @cached_property
    def features(self) -> Floats:
        """Features of choices."""
        return self._of_choices("features", self.task.target.cost.features)

    @cached_property
    def bounds(self) -> Floats:
        """Lower bounds."""
        return self._of_choices("bounds", self.task.target.cost.bounds)

    @cached_property
    def estimates(self) -> Floats:
        """The compiler's estimates."""
        return self._of_choices("estimates", self.task.target.cost.costs)

    def measured(self, numbers: Floats) -> Measured:
        """As boosted trees are trained on it, with these features."""
        return Measured(numbers, self.ranking.costs, self.references)

    @property
    def measured_trees(self) -> MeasuredPrograms:
        """As `TreeRnn` is trained on it."""
        return MeasuredPrograms(self.trees, self.ranking.costs, self.references)

    def _of_choices(self, name: str, numbers: Callable[..., Floats]) -> Floats:
        candidates = self.ranking.candidates
        choices = candidates.choices.where(self.ranking.rows)
        return self._timed(name, lambda: numbers(candidates.template, candidates.workload, choices))

    def _timed(self, name: str, make: Callable[[], T]) -> T:
        begun = process_time()
        found = make()
        self.seconds[name] = (process_time() - begun) / len(self.ranking.rows)
        return found

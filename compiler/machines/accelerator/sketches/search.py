"""The search of a product's sketches, over the choices of both schedules together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.template import (
    PRODUCT_SKETCHES,
    ProductCosts,
)
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.space import Floats, Ints
from tandem.compiler.plan.target import Target
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.boosted import Boosted
from tandem.compiler.tune.explorers.explorer import ChoiceTable, Search
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.tasks import Task

SPACE: Final = "sketches"
"""The name of the space of both schedules."""
WITHIN: Final = 1.5
"""How far an estimate may be above the least one, as a factor."""
BY_ESTIMATE: Final = 16
"""The first measurements: of the lowest estimates, of both schedules alike."""


@dataclass(frozen=True, eq=False)
class JoinedCandidates(Candidates):
    """The choices of several spaces, one after the other.

    Attributes
    ----------
    parts
        The candidates of each space; their features have the same columns.
    """

    parts: tuple[Candidates, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def choice(self, row: int) -> dict[str, Setting]:
        for part in self.parts:
            if row < len(part):
                return part.choice(row)
            row -= len(part)
        raise IndexError(row)

    def row(self, choice: Choice) -> int | None:
        first = 0
        for part in self.parts:
            if choice.keys() == part.choices.columns.keys():
                same = [part.choices.equals(name, setting) for name, setting in choice.items()]
                rows = np.flatnonzero(np.logical_and.reduce(same))
                return first + int(rows[0]) if len(rows) else None
            first += len(part)
        return None

    @cached_property
    def estimates(self) -> Floats:
        return np.concatenate([part.estimates for part in self.parts])

    @cached_property
    def bounds(self) -> Floats:
        return np.concatenate([part.bounds for part in self.parts])

    @cached_property
    def features(self) -> Floats:
        return np.concatenate([part.features for part in self.parts])

    @cached_property
    def settings(self) -> Ints:
        columns = (np.unique(column, return_inverse=True)[1] for column in self.features.T)
        return np.stack([column.astype(np.int64) for column in columns], axis=1)


class SketchSearch(Boosted):
    """Measures the lowest estimates of each schedule first, and is led by a model from then on."""

    patience = 2.0

    def propose(self, count: int) -> Sequence[int]:
        known = int(self.seen.sum())
        if known >= BY_ESTIMATE:
            return super().propose(count)
        candidates = self.candidates
        assert isinstance(candidates, JoinedCandidates), "of sketches"
        first, chosen = 0, []
        share = -(-count // len(candidates.parts))
        for part in candidates.parts:
            # Of choices with equal estimates the first one.
            rows = first + np.unique(part.estimates, return_index=True)[1]
            chosen += [int(row) for row in rows[~self.seen[rows]][:share]]
            first += len(part)
        return chosen[:count] if chosen else super().propose(count)


def sketch_target(target: Target[AcceleratorTarget]) -> Target[AcceleratorTarget]:
    """An accelerator as a target of sketches alone."""
    costs = target.cost
    assert isinstance(costs, ProductCosts) or hasattr(costs, "machine"), "an accelerator's"
    machine: Any = costs.machine
    return replace(target, templates=(PRODUCT_SKETCHES,), cost=ProductCosts(machine), tuned=None)


def sketch_candidates(
    target: Target[AcceleratorTarget], computation: Computation
) -> JoinedCandidates:
    """The choices of both schedules that fit a machine, without those whose estimate is far above
    the least: programs of thousands of short instructions, most of them, which take long to lower.

    Raises
    ------
    Refusal
        No instruction computes the expression, or no choice fits.
    """
    parts, reason = [], None
    for wide in (False, True):
        if wide and PRODUCT_SKETCHES.wide_space(computation, target.machine) is None:
            continue
        try:
            parts.append(Candidates.of(target, PRODUCT_SKETCHES, computation, wide=wide))
        except Refusal as error:
            reason = error
    if not parts:
        assert reason is not None, "the base space was tried"
        raise reason
    least = min(part.estimates.min() for part in parts)
    if not np.isfinite(least):
        raise Refusal(f"{target.machine.config.name} is too small for the micro-ops of any tile")
    near = [
        replace(part, choices=part.choices.where(part.estimates <= WITHIN * least))
        for part in parts
    ]
    found = tuple(part for part in near if len(part))
    choices = found[0].choices
    return JoinedCandidates(target, PRODUCT_SKETCHES, computation, choices, SPACE, found)


def sketch_task(
    target: Target[AcceleratorTarget],
    names: Sequence[str],
    computation: Computation,
    arguments: Arguments | None = None,
) -> Task:
    """The task of a computation in blocks; its default is the choice of the lowest estimate.

    Parameters
    ----------
    target
        As `sketch_target` makes it.

    Raises
    ------
    Refusal
        As `sketch_candidates`.
    """
    candidates = sketch_candidates(target, computation)
    return Task(
        layers=tuple(names),
        target=target,
        template=PRODUCT_SKETCHES,
        workload=computation,
        arguments=arguments or Arguments(),
        default=candidates.choice(int(np.argmin(candidates.estimates))),
    )


def sketch_search(task: Task, seed: int) -> tuple[ChoiceTable, Search]:
    """The table of a task's choices, and what proposes them."""
    candidates = sketch_candidates(task.target, task.workload)
    return candidates, SketchSearch(candidates, seed)

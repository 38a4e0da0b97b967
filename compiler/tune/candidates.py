"""The choices of a workload's space that fit, as a table: what explorers search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tandem.compiler.plan.planner import fitting_choices
from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.plan.space import Choices, Floats, Ints
from tandem.compiler.plan.target import Target
from tandem.compiler.te.knobs import Choice, Setting

BASE, WIDE = "base", "wide"
"""The names of spaces: `ScheduleTemplate.space` and `wide_space`."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The choices of a space that fit the machine, a row for each.

    Attributes
    ----------
    choices
        The choices, in the order of the space.
    space
        The name of the space, `BASE` or `WIDE`.
    """

    target: Target[Any]
    template: ScheduleTemplate[Any, Any]
    workload: Any
    choices: Choices
    space: str = BASE
    listed: ClassVar[bool] = True
    """All choices of the space have a row."""

    @staticmethod
    def of(
        target: Target[Any],
        template: ScheduleTemplate[Any, Any],
        workload: Any,
        *,
        wide: bool = False,
    ) -> Candidates:
        """The candidates of a workload: of its wide space, if `wide` and it has one.

        Raises
        ------
        Refusal
            No choice fits.
        """
        found = template.wide_space(workload, target.machine) if wide else None
        fitting = fitting_choices(target, template, workload, space=found)
        return Candidates(target, template, workload, fitting, BASE if found is None else WIDE)

    def __len__(self) -> int:
        return len(self.choices)

    def choice(self, row: int) -> dict[str, Setting]:
        """The choice of a row."""
        return self.choices.choice(row)

    def row(self, choice: Choice) -> int | None:
        """The row of a choice; None if it is not among the candidates."""
        if choice.keys() != self.choices.columns.keys():
            return None
        return self._rows.get(_key(choice))

    @cached_property
    def estimates(self) -> Floats:
        """The target's estimate of each choice's cost."""
        return self.target.cost.costs(self.template, self.workload, self.choices)

    @cached_property
    def bounds(self) -> Floats:
        """A lower bound of each choice's cost, in the measured unit; 0 where none is known."""
        return self.target.cost.bounds(self.template, self.workload, self.choices)

    @cached_property
    def features(self) -> Floats:
        """Numbers that describe each choice to a learned cost model: [rows, features]."""
        return self.target.cost.features(self.template, self.workload, self.choices)

    @cached_property
    def references(self) -> Floats:
        """What a learned cost model compares each choice's cost with: its bound; 1 where none is
        known."""
        return references(self.bounds)

    @cached_property
    def settings(self) -> Ints:
        """The number of each choice's setting among those of its knob: [rows, knobs]."""
        columns = (np.unique(column, return_inverse=True)[1] for column in self._columns)
        return np.stack([column.astype(np.int64) for column in columns], axis=1)

    @cached_property
    def rows_by_settings(self) -> Mapping[tuple[int, ...], int]:
        """The row with these numbers of settings."""
        return {tuple(row): at for at, row in enumerate(self.settings.tolist())}

    @property
    def _columns(self) -> list[Ints]:
        return list(self.choices.columns.values())

    @cached_property
    def _rows(self) -> Mapping[tuple[tuple[str, Setting], ...], int]:
        return {_key(self.choice(row)): row for row in range(len(self))}


def references(bounds: Floats) -> Floats:
    """What a learned cost model compares costs with, from lower bounds."""
    return np.where(bounds > 0, bounds, 1.0)


def _key(choice: Choice) -> tuple[tuple[str, Setting], ...]:
    return tuple(sorted(choice.items()))

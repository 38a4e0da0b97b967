"""Spaces of choices: named knobs with their settings, as columns of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.te.knobs import Choice, Setting

__all__ = ["Bools", "Choices", "Floats", "Ints", "Space", "factors", "rank_by"]

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Choices:
    """Many choices, a column for each knob.

    Attributes
    ----------
    settings
        What knobs with words for settings can be set to: their columns hold positions in these.
    """

    columns: Mapping[str, Ints]
    settings: Mapping[str, tuple[Setting, ...]]

    @staticmethod
    def of(choices: Sequence[Choice]) -> Choices:
        """These choices, all of the same knobs."""
        columns: dict[str, Ints] = {}
        settings: dict[str, tuple[Setting, ...]] = {}
        for name in choices[0]:
            values = [choice[name] for choice in choices]
            if any(isinstance(value, str) for value in values):
                settings[name] = tuple(dict.fromkeys(values))
                values = [settings[name].index(value) for value in values]
            columns[name] = np.array(values, np.int64)
        return Choices(columns, settings)

    def __getitem__(self, knob: str) -> Ints:
        return self.columns[knob]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def equals(self, knob: str, setting: Setting) -> Bools:
        """Where a knob has that setting."""
        known = self.settings.get(knob)
        if known is None:
            found: Bools = self.columns[knob] == setting
        else:
            found = self.columns[knob] == (known.index(setting) if setting in known else -1)
        return found

    def where(self, rows: Bools | Ints) -> Choices:
        """Some of the choices."""
        return Choices({name: each[rows] for name, each in self.columns.items()}, self.settings)

    def at_most(self, limits: Mapping[str, int]) -> Choices:
        """The choices with knobs lowered to these numbers, as tiles end where an axis does."""
        lower = {name: np.minimum(self.columns[name], limit) for name, limit in limits.items()}
        return Choices({**self.columns, **lower}, self.settings)

    def choice(self, row: int) -> dict[str, Setting]:
        """One of them."""
        numbers = {name: int(column[row]) for name, column in self.columns.items()}
        return {
            name: self.settings[name][number] if name in self.settings else number
            for name, number in numbers.items()
        }


@dataclass(frozen=True, slots=True)
class Space:
    """Every combination of settings that meets the constraint.

    Attributes
    ----------
    knobs
        The settings of each, by name: numbers only, or words only. The first knob changes slowest.
    constraint
        Which combinations make sense, whether they fit or not.
    """

    knobs: Mapping[str, tuple[Setting, ...]]
    constraint: Callable[[Choices], Bools] = lambda choices: np.ones(len(choices), np.bool_)

    def choices(self, fixed: Mapping[str, Sequence[Setting]] | None = None) -> Choices:
        """All of them, or those with knobs at some of these settings."""
        knobs = {**self.knobs, **{name: tuple(each) for name, each in (fixed or {}).items()}}
        words = {
            name: settings
            for name, settings in knobs.items()
            if any(isinstance(each, str) for each in settings)
        }
        axes = [
            np.arange(len(settings)) if name in words else np.array(settings, np.int64)
            for name, settings in knobs.items()
        ]
        grid = np.meshgrid(*axes, indexing="ij")
        columns = {name: each.ravel() for name, each in zip(knobs, grid, strict=True)}
        choices = Choices(columns, words)
        return choices.where(self.constraint(choices))


def factors(extent: int) -> tuple[int, ...]:
    """Sizes of tiles of an axis: for each number of tiles the least that will do."""
    return tuple(sorted({-(-extent // count) for count in range(1, extent + 1)}))


def rank_by(*keys: Ints | Bools | Floats) -> Floats:
    """Numbers that order choices by the first key, then by the second and so on."""
    rows = np.lexsort(keys[::-1])
    columns = np.stack([np.asarray(key, np.float64)[rows] for key in keys])
    changes = np.r_[False, (columns[:, 1:] != columns[:, :-1]).any(axis=0)]
    found = np.empty(len(rows), np.float64)
    found[rows] = np.cumsum(changes)
    return found

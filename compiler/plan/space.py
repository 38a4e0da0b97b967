"""Search spaces: choices of knob settings, stored as columns of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tandem.compiler.te.knobs import Choice, Setting

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Choices:
    """A batch of choices: a column of numbers for each knob, a row for each choice.

    Attributes
    ----------
    settings
        The settings of knobs with string settings, whose columns hold indices into the settings.
    """

    columns: Mapping[str, Ints]
    settings: Mapping[str, tuple[Setting, ...]]

    @staticmethod
    def of(choices: Sequence[Choice]) -> Choices:
        """The batch of these choices, which have the same knobs."""
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
        """A mask of the choices with this setting of a knob."""
        number = setting
        if knob in self.settings:
            words = self.settings[knob]
            number = words.index(setting) if setting in words else -1
        return self.columns[knob] == number

    def where(self, rows: Bools | Ints) -> Choices:
        """The choices selected by a mask or by row indices."""
        return Choices({name: column[rows] for name, column in self.columns.items()}, self.settings)

    def at_most(self, limits: Mapping[str, int]) -> Choices:
        """The choices with knobs clamped to upper limits: a tile is no longer than its axis."""
        lower = {name: np.minimum(self.columns[name], limit) for name, limit in limits.items()}
        return Choices({**self.columns, **lower}, self.settings)

    def choice(self, row: int) -> dict[str, Setting]:
        """The choice in row `row`, as settings by knob."""
        numbers = {name: int(column[row]) for name, column in self.columns.items()}
        return {
            name: self.settings[name][number] if name in self.settings else number
            for name, number in numbers.items()
        }


@dataclass(frozen=True, slots=True)
class Space:
    """All combinations of the knobs' settings that satisfy a constraint.

    Attributes
    ----------
    knobs
        The settings of each knob, all numbers or all strings. The first knob varies slowest.
    constraint
        A mask of the consistent combinations; capacity is not checked.
    """

    knobs: Mapping[str, tuple[Setting, ...]]
    constraint: Callable[[Choices], Bools] = lambda choices: np.ones(len(choices), np.bool_)

    def choices(self, fixed: Mapping[str, Sequence[Setting]] | None = None) -> Choices:
        """All choices; `fixed` restricts the settings of some knobs."""
        knobs = {**self.knobs, **{name: tuple(only) for name, only in (fixed or {}).items()}}
        words = {
            name: settings
            for name, settings in knobs.items()
            if any(isinstance(setting, str) for setting in settings)
        }
        axes = [
            np.arange(len(settings)) if name in words else np.array(settings, np.int64)
            for name, settings in knobs.items()
        ]
        grid = np.meshgrid(*axes, indexing="ij")
        columns = {name: column.ravel() for name, column in zip(knobs, grid, strict=True)}
        choices = Choices(columns, words)
        return choices.where(self.constraint(choices))


def tile_sizes(extent: int) -> tuple[int, ...]:
    """Candidate tile sizes of an axis: for each possible number of tiles, the smallest size."""
    return tuple(sorted({-(-extent // count) for count in range(1, extent + 1)}))


def divisors(extent: int) -> tuple[int, ...]:
    """The sizes of tiles that divide an axis."""
    return tuple(size for size in range(1, extent + 1) if extent % size == 0)


def rank_by(*keys: Ints | Bools | Floats) -> Floats:
    """The rank of each choice in lexicographic order of the keys; equal keys have equal ranks."""
    rows = np.lexsort(keys[::-1])
    columns = np.stack([np.asarray(key, np.float64)[rows] for key in keys])
    changes = np.r_[False, (columns[:, 1:] != columns[:, :-1]).any(axis=0)]
    found = np.empty(len(rows), np.float64)
    found[rows] = np.cumsum(changes)
    return found

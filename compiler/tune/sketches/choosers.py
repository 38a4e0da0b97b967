"""Who makes the decisions of a sketch: a random generator, a trace, or a trace that is varied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.knobs import Setting
from tandem.compiler.tune.sketches.trace import SketchTrace

ROOT: Final = "root"
"""The place of a stage with loops of its own."""


class Chooser(ABC):
    """Takes one of the options of each decision."""

    @abstractmethod
    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        """One of the options, of which there is at least one."""


@dataclass(frozen=True, slots=True)
class Sampled(Chooser):
    """Draws each decision at random, all options alike.

    Attributes
    ----------
    near
        Whether stages are computed near those that read them, wherever they can be.
    """

    random: Random
    near: bool = False

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        if self.near and name.endswith(".at"):
            options = [each for each in options if each != ROOT] or options
        return self.random.choice(options)


@dataclass(frozen=True, slots=True)
class Replayed(Chooser):
    """Takes the decisions of a trace, and no others."""

    values: Mapping[str, Setting]

    @staticmethod
    def of(trace: SketchTrace) -> Replayed:
        """The chooser of a trace."""
        return Replayed(trace.choice)

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        if name not in self.values:
            raise ReplayError(f"the trace does not decide {name}: {_listed(options)} are allowed")
        value = self.values[name]
        if value not in options:
            raise ReplayError(f"{name} is {value}: {_listed(options)} are allowed")
        return value


@dataclass(frozen=True, slots=True)
class Varied(Chooser):
    """Takes the decisions of a trace that are options still, and draws all others.

    Attributes
    ----------
    fresh
        The names of decisions that are drawn anew: another option than the trace's, if there is
        one.
    """

    values: Mapping[str, Setting]
    fresh: frozenset[str]
    random: Random

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        old = self.values.get(name)
        if name in self.fresh:
            return self.random.choice([each for each in options if each != old] or options)
        return old if old is not None and old in options else self.random.choice(options)


def _listed(options: Sequence[Setting]) -> str:
    return ", ".join(map(str, options))

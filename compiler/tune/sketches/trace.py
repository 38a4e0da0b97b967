"""Traces of sketches: the decisions that made a schedule, as data and as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.knobs import Setting

_NUMBER: Final = re.compile(r"-?\d+\Z")
_WORD: Final = re.compile(r"[^\s=]+\Z")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of a sketch: what was asked, as `s2.lanes`, and the option that was taken."""

    name: str
    value: Setting


@dataclass(frozen=True, slots=True)
class SketchTrace:
    """The decisions of a sketch, in the order in which they were made.

    Stages have numbers in decisions (`s2` is the third stage of the expressions), so that a trace
    does not depend on the names of tensors.
    """

    decisions: tuple[Decision, ...] = ()

    def __str__(self) -> str:
        return " ".join(f"{each.name}={each.value}" for each in self.decisions)

    @property
    def choice(self) -> dict[str, Setting]:
        """The decisions as records have them: values by name, in the order of names."""
        return {each.name: each.value for each in sorted(self.decisions, key=lambda it: it.name)}

    @staticmethod
    def of(choice: Mapping[str, Setting]) -> SketchTrace:
        """The trace of a record's choice."""
        return SketchTrace(tuple(Decision(name, value) for name, value in choice.items()))

    @staticmethod
    def parse(text: str) -> SketchTrace:
        """The trace in a text that `str` made.

        Raises
        ------
        ReplayError
            If a word of the text is no decision, or two decisions have one name.
        """
        found: dict[str, Setting] = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            if not equals or not _WORD.match(name) or not _WORD.match(value):
                raise ReplayError(f"{word!r} is no decision: name=value is expected")
            if name in found:
                raise ReplayError(f"{name} is decided twice")
            found[name] = int(value) if _NUMBER.match(value) else value
        return SketchTrace.of(found)

"""Knobs: the named choices that a trace leaves open, and traces with knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.primitives.base import Primitive

Setting: TypeAlias = int | str
"""The value of a knob."""
Choice: TypeAlias = Mapping[str, Setting]
"""A setting for each knob, by name."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A placeholder for the value of a primitive's field that a trace leaves open.

    Attributes
    ----------
    options
        The field's value for each setting of the knob. Without options the setting is the value.
    """

    name: str
    options: tuple[tuple[Setting, Any], ...] = ()

    def __str__(self) -> str:
        return f"?{self.name}"

    def value(self, choice: Choice) -> Any:
        """The field's value.

        Raises
        ------
        ReplayError
            If the setting is not one of the knob's options.
        """
        setting, values = choice[self.name], dict(self.options)
        if self.options and setting not in values:
            allowed = ", ".join(map(str, values))
            raise ReplayError(f"{self.name} is {setting}: {allowed} are its options")
        return values.get(setting, setting)


def knob(name: str, options: Mapping[Any, Any] | None = None) -> Any:
    """Return a knob for a field of any type."""
    return Knob(name, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class When:
    """Steps of a trace that are applied only for some settings of a knob."""

    knob: str
    settings: tuple[Setting, ...]
    steps: tuple[Primitive | When, ...]


Trace: TypeAlias = tuple[Primitive, ...]
OpenTrace: TypeAlias = tuple[Primitive | When, ...]


def knobs_of(trace: Sequence[Primitive | When]) -> tuple[str, ...]:
    """The names of the knobs that a trace leaves open, in the order of their first use."""

    def found(steps: Sequence[Primitive | When]) -> Iterator[str]:
        for step in steps:
            if isinstance(step, When):
                yield step.knob
                yield from found(step.steps)
            else:
                values = (getattr(step, field.name) for field in fields(step))
                yield from (value.name for value in values if isinstance(value, Knob))

    return tuple(dict.fromkeys(found(trace)))


def bind(trace: Sequence[Primitive | When], choice: Choice) -> Trace:
    """Return the trace with all knobs set.

    Raises
    ------
    ReplayError
        If a knob has no setting, a setting has no knob, or a setting is not an option.
    """
    names = knobs_of(trace)
    missing = [name for name in names if name not in choice]
    extra = [name for name in choice if name not in names]
    if missing or extra:
        problem = f"no choice for {', '.join(missing)}" if missing else "every knob has a choice"
        raise ReplayError(f"{problem}; choices for unknown knobs: {', '.join(extra) or 'none'}")
    return tuple(_bound(trace, choice))


def _bound(trace: Sequence[Primitive | When], choice: Choice) -> Iterator[Primitive]:
    for step in trace:
        if isinstance(step, When):
            if choice[step.knob] in step.settings:
                yield from _bound(step.steps, choice)
        else:
            changes: dict[str, Any] = {
                field.name: value.value(choice)
                for field in fields(step)
                if isinstance(value := getattr(step, field.name), Knob)
            }
            yield replace(step, **changes) if changes else step

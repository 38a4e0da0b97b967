"""Knobs: the choices that a trace leaves open, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from compiler.errors import ReplayError
from compiler.te.primitives.base import Primitive

__all__ = ["Choice", "Knob", "OpenTrace", "Setting", "Trace", "When", "bind", "knob", "knobs_of"]

Setting: TypeAlias = int | str
"""What a knob is set to."""
Choice: TypeAlias = Mapping[str, Setting]
"""A setting for each knob, by name."""


@dataclass(frozen=True, slots=True)
class Knob:
    """The value of a primitive's field that a trace leaves open.

    Attributes
    ----------
    options
        The field's value for each setting of the knob; without options it is the setting itself.
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
            The knob has no such option.
        """
        setting = choice[self.name]
        if not self.options:
            return setting
        for known, value in self.options:
            if known == setting:
                return value
        allowed = ", ".join(str(known) for known, _ in self.options)
        raise ReplayError(f"{self.name} is {setting}: {allowed} are its options")


def knob(name: str, options: Mapping[Any, Any] | None = None) -> Any:
    """A knob, for a field of whatever type."""
    return Knob(name, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class When:
    """Steps that belong to a trace only for some settings of a knob."""

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
    """The trace with all knobs set.

    Raises
    ------
    ReplayError
        A knob without a setting; a setting for no knob; a setting that is none of the options.
    """
    names = knobs_of(trace)
    missing = [name for name in names if name not in choice]
    extra = [name for name in choice if name not in names]
    if missing or extra:
        problem = f"no choice for {', '.join(missing)}" if missing else "every knob has a choice"
        raise ReplayError(f"{problem}; chosen for nothing: {', '.join(extra) or 'none'}")
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

"""Groups of options that several commands share: a parameter of a command is all of a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints


class OptionGroup:
    """The base class of groups: frozen dataclasses whose fields are options, annotated for typer
    and with defaults."""

    __slots__ = ()


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer that has the options of groups in place of parameters of their types.

    ::

        class Flags(OptionGroup):
            weights: WeightsOption = None
            smooth: SmoothOption = False

        def command(flags: Flags, seed: SeedOption = 0)
            ->  def command(weights: WeightsOption = None, smooth: SmoothOption = False,
                            seed: SeedOption = 0)
    """
    groups: dict[str, type[Any]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(command, eval_str=True).parameters.items():
        kind = parameter.annotation
        own = {name: parameter.replace(kind=Parameter.KEYWORD_ONLY)}
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            assert is_dataclass(kind), "a group is a dataclass"
            groups[name], own = kind, _options(kind)
        assert not own.keys() & parameters.keys(), "an option has one parameter"
        parameters |= own

    @wraps(command)
    def called(**given: Any) -> None:
        values = {
            name: kind(**{option.name: given.pop(option.name) for option in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **values)

    called.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=[*parameters.values()]
    )
    return called


def _options(group: type[Any]) -> dict[str, Parameter]:
    """The fields of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    found = {}
    for option in fields(group):
        assert option.default is not MISSING, "options of groups have defaults"
        found[option.name] = Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=hints[option.name],
        )
    return found

"""The options of every verb, with their defaults, stay what they were.

A default that another part of the program has, too, such as that of a machine, would otherwise
change in one place without a test of results seeing it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from typer.main import get_command

from tandem.scripts.cli import VERBS, app


def _value(value: Any) -> str:
    """A default as the command line writes it."""
    if isinstance(value, Enum):
        return str(value.value)
    return type(value).__name__ if callable(value) else str(value)


def _options(group: Any, context: Any, verb: str) -> str:
    """A line for each argument and option of a verb."""
    # Verbs are imported when they are resolved.
    _, command, _ = group.resolve_command(context, [verb])
    own = command.make_context(verb, [], parent=context, resilient_parsing=True)
    lines = []
    # `--help` is Click's.
    for option in (each for each in command.get_params(own) if each.name != "help"):
        names = [*option.opts, *option.secondary_opts]
        counts = f"{option.required} {option.nargs} {getattr(option, 'multiple', False)}"
        given = f"{_value(option.default)} {getattr(option, 'hidden', False)}"
        lines.append(f"{option.name} {names} {counts} {given} {getattr(option, 'help', '')}")
    return "\n".join([f"{len(lines)} options", *lines])


def test_options(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    # Typer's own copy of Click is private, and so are the types of what follows.
    group: Any = get_command(app)
    context = group.make_context("tandem", [], resilient_parsing=True)
    found = {verb: _options(group, context, verb) for verb in VERBS}
    recorded("recorded/scripts/options.txt", found)

"""The commands with their arguments and options, as Markdown made of the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from tandem.scripts.cli import VERBS, app


def command_page() -> str:
    """A section for each command, without the page's title."""
    # Typer's own copy of Click is private, and so are the types of what follows.
    group: Any = typer.main.get_command(app)
    context = group.make_context("tandem", [], resilient_parsing=True)
    return "\n".join(line for verb in VERBS for line in _section(group, context, verb))


def _section(group: Any, context: Any, verb: str) -> Iterator[str]:
    # Verbs are imported when they are resolved.
    _, command, _ = group.resolve_command(context, [verb])
    own = command.make_context(verb, [], parent=context, resilient_parsing=True)
    yield f"\n## tandem {verb}\n"
    yield f"{_plain(command.help or '')}\n"
    yield "| argument or option | means |"
    yield "| --- | --- |"
    for parameter in command.get_params(own):
        if record := parameter.get_help_record(own):
            name, meaning = record
            # An option that only switches off has nothing before the stroke.
            shown = name.removeprefix(" / ").replace("|", chr(92) + "|")
            yield f"| `` {shown} `` | {_plain(meaning)} |"


def _plain(text: str) -> str:
    """A text for a cell of a table: on one line, nothing in it markup but `code`."""
    parts = " ".join(text.split()).split("`")
    for at, part in enumerate(parts):
        special = r"([|*_<>\[\]$\\])" if at % 2 == 0 else r"(\|)"
        parts[at] = re.sub(special, r"\\\1", part)
    return "`".join(parts)

"""A command group that imports a verb's module only when that verb is invoked.

NumPy, LLVM and Amaranth take seconds to import together, and `tandem --help` needs none of them.
Lazy loading lets a command's module have all its imports at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tandem.scripts.signals import ended_at_once


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command line, implemented by the function `command` of `module`.

    `panel` is the heading under which the list of verbs shows it.
    """

    module: str
    help: str
    panel: str | None = None


class LazyGroup(TyperGroup):
    """A group that lists its verbs from a table, and loads a verb when it is resolved.

    Class attribute `verbs` is the table; `make_group` makes a subclass with another table.
    """

    verbs: Mapping[str, Verb] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, verb in self.verbs.items():
            self.add_command(TyperCommand(name, help=verb.help, rich_help_panel=verb.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the verb's entry by its command, then resolve as usual."""
        if args and args[0] in self.verbs:
            # As a path, an empty text is the current folder.
            if any(not arg or (arg.startswith("--") and arg.endswith("=")) for arg in args):
                raise typer.BadParameter("an argument, or the value of an option, is empty")
            with ended_at_once():
                self.add_command(_load(args[0], self.verbs[args[0]]))
        return super().resolve_command(ctx, args)


def make_group(verbs: Mapping[str, Verb]) -> type[LazyGroup]:
    """A group class for Typer's `cls` with these verbs, listed in this order."""
    return type("VerbGroup", (LazyGroup,), {"verbs": verbs})


def _load(name: str, verb: Verb) -> Any:
    # As Markdown, a paragraph of help is filled; otherwise it keeps the breaks of the source.
    single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    single.command(name)(import_module(verb.module).command)
    return typer.main.get_command(single)

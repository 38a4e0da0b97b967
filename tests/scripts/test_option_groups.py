"""Groups of options: a parameter of a command is all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tandem.scripts.option_groups import OptionGroup, with_groups


@dataclass(frozen=True, slots=True)
class Flags(OptionGroup):
    depth: Annotated[int, typer.Option("--depth", help="How deep.")] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


FLAGS = Flags()


@with_groups
def command(
    context: typer.Context,
    what: Annotated[str, typer.Argument()],
    flags: Flags = FLAGS,
    wide: Annotated[bool, typer.Option("--wide")] = False,
) -> None:
    """Says what it was given."""
    source = context.get_parameter_source("depth")
    assert source is not None
    typer.echo(f"{what} {flags.depth} {flags.names} {wide} {source.name}")


def printed(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments).output.strip()


def test_options_of_a_group() -> None:
    assert printed("it") == "it 3 None False DEFAULT"
    given = ("it", "--name", "a", "--wide", "--name", "b", "--depth", "4")
    assert printed(*given) == "it 4 ['a', 'b'] True COMMANDLINE"


def test_help_has_them_where_the_group_stands() -> None:
    text = printed("--help")
    places = [
        text.index(part) for part in ("Says what", "--depth", "How deep.", "--name", "--wide")
    ]
    assert places == sorted(places)


def test_an_option_has_one_parameter() -> None:
    def twice(flags: Flags, depth: int = 1) -> None:
        raise AssertionError

    with pytest.raises(AssertionError, match="an option has one parameter"):
        with_groups(twice)

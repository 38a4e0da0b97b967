"""`tandem doctor`: what is installed, what is missing, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tandem.scripts.console import FAILED, errors_in_one_line, print_json
from tandem.scripts.options import DebugOption, JsonOption
from tandem.scripts.progress import show_activity
from tandem.scripts.tables import plain_console
from tandem.workbench.installation.check import Check
from tandem.workbench.installation.examine import examine


def command(
    compile_now: Annotated[
        bool,
        typer.Option("--compile", help="Compile the simulators now, if they are not compiled."),
    ] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say what is installed, what is missing and what to do.

    It compiles and simulates a convolution, too, and compares the result with NumPy's. The exit
    status is 1 if something is missing that an installation without extras has.
    """
    with errors_in_one_line(debug):
        with show_activity("doctor", as_json) as report:
            checks = [*examine(report or (lambda step: None), compile_now=compile_now)]
        if as_json:
            print_json({"checks": [_as_json(check) for check in checks]})
        else:
            _print(plain_console(), checks)
        if any(check.required and not check.ok for check in checks):
            raise typer.Exit(FAILED)


def _as_json(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "ok": check.ok,
        "required": check.required,
        "detail": check.detail,
        "remedy": check.remedy or None,
    }


def _print(console: Console, checks: list[Check]) -> None:
    rows = []
    for check in checks:
        state = "ok" if check.ok else "missing" if check.required else "-"
        rows.append((check.name, state, check.detail))
    console.print(_table(rows))
    if remedies := [(check.name, check.remedy) for check in checks if check.remedy]:
        console.print()
        console.print("To do, where you want it:")
        console.print(_table(remedies))


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    """A table whose last column wraps."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in rows[0][:-1]:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table

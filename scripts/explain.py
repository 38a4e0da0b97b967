"""Why operators are on the CPU, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from scripts.wide import wide_console

__all__ = ["print_reasons"]


def print_reasons(steps: Sequence[tuple[Sequence[str], str | None]]) -> None:
    """A row for each step of the CPU that differs from those before.

    Parameters
    ----------
    steps
        The operators of each, and the reason; None where no accelerator was asked.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("on the CPU", no_wrap=True)
    table.add_column("why", no_wrap=True)
    for operators, reason in dict.fromkeys((tuple(names), reason) for names, reason in steps):
        table.add_row(" + ".join(operators), reason or "it was compiled for the CPU alone")
    console = wide_console(table)
    console.print()
    console.print(table if steps else "nothing is on the CPU")

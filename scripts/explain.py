"""`--explain`: why operators are on the CPU, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.tables import plain_console, plain_table, print_table

__all__ = ["print_reasons"]


def print_reasons(steps: Sequence[tuple[Sequence[str], str | None]]) -> None:
    """Print a row for each pair of operators and reason that occurs.

    Parameters
    ----------
    steps
        The operators of each step of the CPU, and the reason; None where the network was compiled
        for the CPU alone.
    """
    console = plain_console()
    console.print()
    if not steps:
        console.print("nothing is on the CPU")
        return
    table = plain_table(("on the CPU", "why"), ())
    for operators, reason in dict.fromkeys((tuple(names), reason) for names, reason in steps):
        table.add_row(" + ".join(operators), reason or "it was compiled for the CPU alone")
    print_table(console, table)

"""`--explain`: a table of the reasons why operators run on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.tables import plain_console, plain_table, print_table


def print_reasons(steps: Sequence[tuple[Sequence[str], str | None]]) -> None:
    """Print a row for each distinct pair of operators and reason.

    Parameters
    ----------
    steps
        Operators and reason of each CPU step; the reason is None if the network was compiled for
        the CPU alone.
    """
    console = plain_console()
    console.print()
    if not steps:
        console.print("nothing is on the CPU")
        return
    table = plain_table(("on the CPU", "why"), ())
    for operators, reason in dict.fromkeys((tuple(names), reason) for names, reason in steps):
        text = reason or "it was compiled for the CPU alone"
        # Each reason of a step on a line of its own.
        table.add_row(" + ".join(dict.fromkeys(operators)), text.replace("; ", "\n"))
    print_table(console, table)

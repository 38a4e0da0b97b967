"""`--explain`: why operators run on the CPU, and what its round trips cost, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.scripts.tables import plain_console, plain_table, print_table, whole_number
from tandem.workbench.round_trips import RoundTrip


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


def print_round_trips(trips: Sequence[RoundTrip]) -> None:
    """Print a row for each round trip; nothing if there is none."""
    if not trips:
        return
    console = plain_console()
    console.print()
    timed = trips[0].seconds is not None
    numbers = ["bytes\nto CPU", "bytes\nback"] + (["CPU\nms", "of it\nlayout"] if timed else [])
    table = plain_table(("round trip after", "before"), numbers)
    for trip in trips:
        cells = [whole_number(trip.bytes_to_cpu), whole_number(trip.bytes_to_accelerator)]
        times = (trip.seconds, trip.layout_seconds) if timed else ()
        cells += [f"{(seconds or 0) * 1e3:.3f}" for seconds in times]
        table.add_row(trip.after, trip.before, *cells)
    print_table(console, table)
    count = f"{len(trips)} round trip{'s' * (len(trips) > 1)}"
    console.print(f"{count}: without, {len(trips) + 1} launches would be one")

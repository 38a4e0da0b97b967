"""`--explain`: why operators run on the CPU, and what its round trips cost, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.scripts.tables import plain_console, plain_table, print_table, whole_number
from tandem.workbench.round_trips import RoundTrip


def print_reasons(steps: Sequence[tuple[str, Sequence[str], str | None]]) -> None:
    """Print a row for each distinct pair of operators and reason.

    Parameters
    ----------
    steps
        Name, operators and reason of each CPU step; the reason is None if the network was compiled
        for the CPU alone.
    """
    console = plain_console()
    console.print()
    if not steps:
        console.print("nothing is on the CPU")
        return
    table = plain_table(("layer", "on the CPU", "why"), ())
    alike: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    for name, operators, reason in steps:
        alike.setdefault((tuple(operators), reason), []).append(name)
    for (operators, reason), names in alike.items():
        text = reason or "it was compiled for the CPU alone"
        more = f" +{len(names) - 1}" if len(names) > 1 else ""
        # Each reason of a step on a line of its own.
        parts = " + ".join(dict.fromkeys(operators))
        table.add_row(names[0] + more, parts, text.replace("; ", "\n"))
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

"""`tandem tune --network`: a network's exact cycles, and what bounds them, as text."""

from __future__ import annotations

from rich.console import Console

from tandem.scripts.tables import percentage, plain_table, print_table, whole_number
from tandem.workbench.network_bound import NetworkBound


def print_bound(console: Console, title: str, found: NetworkBound) -> None:
    """Print a network's cycles, a row for each resource, and a row for each class of schedules.

    Parameters
    ----------
    title
        The network, the machine and its memory.
    """
    streams = f", in {found.streams} streams" if found.streams > 1 else ""
    console.print(f"{title}: {found.cycles:,} cycles{streams}", soft_wrap=True)
    console.print()
    table = plain_table(("at least",), ("bytes", "cycles", "share"))
    for resource, least in found.resources.items():
        table.add_row(
            f"{'  ' * resource.depth}{resource.value}",
            whole_number(least.size),
            whole_number(least.cycles),
            percentage(found.share(resource)),
        )
    print_table(console, table)
    console.print()
    bounds = plain_table(("bound of schedules with",), ("cycles", "gap"))
    for schedules, cycles in found.bounds.items():
        bounds.add_row(schedules.value, whole_number(cycles), f"{found.gap(schedules):.2%}")
    print_table(console, bounds)

"""What a file of records knows, as tables: `tandem tune --show`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from tandem.compiler.tune.records import Record
from tandem.compiler.tune.tuner import settings_text
from tandem.scripts.tables import plain_table, print_table
from tandem.workbench.recorded_workloads import RecordedWorkload


def print_recorded(console: Console, known: Sequence[RecordedWorkload]) -> None:
    """A table for each machine and memory."""
    for place, rows in groupby(known, lambda one: (one.machine, one.memory)):
        console.print(", ".join(part for part in place if part))
        print_table(console, _table([*rows]))


def _table(rows: Sequence[RecordedWorkload]) -> Table:
    table = plain_table(("workload and best choice", "explorer"), ("trials", "best"))
    for row in rows:
        best = row.best
        table.add_row(
            row.name if best is None else f"{row.name}\n  {settings_text(best.choice)}",
            "" if best is None else best.explorer,
            f"{row.trials:,}",
            "-" if best is None else _cost(best),
        )
    return table


def _cost(record: Record) -> str:
    # On the CPU costs are seconds.
    return f"{record.cost:,}" if isinstance(record.cost, int) else f"{record.cost:.4g}"

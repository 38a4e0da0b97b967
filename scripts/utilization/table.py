"""The measured rows as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.scripts.tables import percentage, plain_console, plain_table, print_table, whole_number
from tandem.workbench.utilization.rows import Row, Times, total


def print_rows(rows: Sequence[Row], engine: str, config: str, memory: str) -> None:
    """Print a line for each convolution, the total, and the machine that was measured."""
    table = plain_table(
        ("layer", "convolution"),
        ("count", "cycles\nwithout", "with", "utilisation\nwithout", "with"),
    )
    for row in rows:
        table.add_row(row.layer.name, str(row.layer), *_cells(row.times))
    whole = total(rows)
    table.add_row(whole.name, "", *_cells(whole), style="bold")
    console = plain_console()
    console.print(f"convolutions on {config}, engine {engine}, memory {memory}:")
    console.print("without latency hiding and with it (two virtual threads), on the same tiles")
    console.print()
    print_table(console, table)
    console.print()
    console.print("all results equal to NumPy's")
    if whole.cycles_with is None:
        console.print(f"the {engine} engine has no time: --engine cycle tells cycles")


def _cells(times: Times) -> tuple[str, ...]:
    return (
        f"{times.count}",
        whole_number(times.cycles_without, "-"),
        whole_number(times.cycles_with, "-"),
        percentage(times.utilization_without, "-"),
        percentage(times.utilization_with, "-"),
    )

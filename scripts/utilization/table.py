"""The rows as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from scripts.utilization.rows import Row, Times, total
from scripts.wide import wide_console

__all__ = ["print_rows"]


def print_rows(rows: Sequence[Row], engine: str, config: str, memory: str) -> None:
    """A line a convolution, the total below, and what the numbers rest on."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("\nlayer", no_wrap=True)
    table.add_column("\nconvolution", no_wrap=True)
    for head in ("\ncount", "cycles\nwithout", "\nwith", "utilisation\nwithout", "\nwith"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.layer.name, str(row.layer), *_cells(row.times))
    whole = total(rows)
    table.add_row(whole.name, "", *_cells(whole), style="bold")
    console = wide_console(table)
    console.print(f"convolutions on {config}, engine {engine}, memory {memory}:")
    console.print("without latency hiding and with it (two virtual threads), on the same tiles")
    console.print()
    console.print(table)
    console.print()
    console.print("all results equal to NumPy's")
    if whole.cycles_with is None:
        console.print(f"the {engine} engine has no time: --engine rtl tells cycles")


def _cells(times: Times) -> tuple[str, ...]:
    return (
        f"{times.count}",
        _number(times.cycles_without),
        _number(times.cycles_with),
        _share(times.utilization_without),
        _share(times.utilization_with),
    )


def _number(cycles: int | None) -> str:
    return "-" if cycles is None else f"{cycles:,}"


def _share(utilization: float | None) -> str:
    return "-" if utilization is None else f"{utilization:.1%}"

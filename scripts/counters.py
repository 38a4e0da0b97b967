"""The counters of a run, as text."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tandem.hw.config import HardwareConfig
from tandem.sim.result import Result
from tandem.workbench.counters import unit_cycles


def unit_table(result: Result) -> Table:
    """Each unit's cycles by activity, a row a unit, for a result with time.

    In a cell that is too wide, the percentage is on a second line.
    """
    table = Table("cycles", box=None, pad_edge=False, header_style="bold")
    for column in ("busy", "waits for token", "waits for memory", "idle"):
        table.add_column(column, justify="right")
    for unit, *spent in unit_cycles(result).rows:
        cycles = [int(count or 0) for count in spent]
        total = sum(cycles) or 1
        table.add_row(str(unit), *(f"{n:,} {n / total:6.1%}" for n in cycles))
    return table


def print_counters(
    console: Console, config: HardwareConfig, result: Result, image_sha256: str
) -> None:
    """Print the result of a run as text."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    work = result.work
    time = "-" if result.cycles is None else f"{result.cycles:,}"
    kinds = ", ".join(f"{n:,} {kind.name}" for kind, n in work.instructions.items() if n)
    loads = ", ".join(f"{n:,} {memory.name}" for memory, n in work.loaded.items() if n)
    table.add_row("engine", f"{result.engine}, configuration {config.name}")
    table.add_row("cycles", time)
    table.add_row("instructions", kinds)
    table.add_row("bytes loaded", loads or "0")
    table.add_row("bytes stored", f"{work.stored:,}")
    table.add_row(
        "micro-ops",
        f"{work.gemm_uops:,} GEMM, {work.reset_uops:,} reset, {work.alu_uops:,} ALU",
    )
    table.add_row("image SHA-256", image_sha256)
    console.print(table, highlight=False)
    if result.cycles is not None:
        console.print()
        console.print(unit_table(result), highlight=False)

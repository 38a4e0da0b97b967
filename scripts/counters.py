"""The counters of a run, as JSON and as text."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Work
from tandem.sim.result import Result


def counters(result: Result) -> dict[str, object]:
    """The JSON of the counters: bytes and micro-ops, and with time each unit's cycles by
    activity."""
    found = _work(result.work)
    if result.units is not None:
        found["modules"] = _units(result)
    return found


def unit_table(result: Result) -> Table:
    """Each unit's cycles by activity, a row a unit, for a result with time.

    In a cell that is too wide, the percentage is on a second line.
    """
    table = Table("cycles", box=None, pad_edge=False, header_style="bold")
    for column in ("busy", "waits for token", "waits for memory", "idle"):
        table.add_column(column, justify="right")
    for unit, spent in _units(result).items():
        total = sum(spent.values()) or 1
        table.add_row(unit, *(f"{n:,} {n / total:6.1%}" for n in spent.values()))
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


def _work(work: Work) -> dict[str, object]:
    return {
        "bytes_loaded": {memory.name.lower(): n for memory, n in work.loaded.items()},
        "bytes_stored": work.stored,
        "gemm_uops": work.gemm_uops,
        "reset_uops": work.reset_uops,
        "alu_uops": work.alu_uops,
        "instructions": {kind.name.lower(): n for kind, n in work.instructions.items()},
    }


def _units(result: Result) -> dict[str, dict[str, int]]:
    """Cycles of each unit by activity; those of a unit sum to the run's."""
    if result.cycles is None or result.units is None:
        return {}
    return {
        unit.name.lower(): {
            "busy": cycles.busy,
            "token": cycles.token,
            "memory": cycles.memory,
            "idle": result.cycles - cycles.busy - cycles.token - cycles.memory,
        }
        for unit, cycles in result.units.items()
    }

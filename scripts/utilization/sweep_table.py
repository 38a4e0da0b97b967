"""The points of a sweep as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.scripts.tables import percentage, plain_console, plain_table, print_table, whole_number
from tandem.workbench.utilization.sweep import ENGINE, SweptPoint
from tandem.workbench.utilization.sweep_axes import describe


def print_sweep(swept: Sequence[SweptPoint], config: str, memory: str) -> None:
    """Print a line for each point, with the total of its layers, and the points without one."""
    table = plain_table(("point",), ("cycles\nwithout", "with", "utilisation\nwithout", "with"))
    reasons: dict[str, list[str]] = {}
    for found in swept:
        text, times = describe(found.point), found.total
        if times is None:
            reasons.setdefault(found.reason or "", []).append(text)
            continue
        table.add_row(
            text,
            whole_number(times.cycles_without),
            whole_number(times.cycles_with),
            percentage(times.utilization_without),
            percentage(times.utilization_with),
        )
    names = [row.layer.name for row in next(found.rows for found in swept if found.rows)]
    console = plain_console()
    console.print(f"convolutions on {config}, engine {ENGINE}, memory {memory}, but at each point:")
    console.print(f"all of {', '.join(names)}, without latency hiding and with it")
    console.print()
    print_table(console, table)
    console.print()
    for reason, texts in reasons.items():
        others = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
        console.print(f"not measured: {texts[0]}{others}: {reason}")
    console.print("all results equal to NumPy's")

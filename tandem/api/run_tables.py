"""The layers of a run as a table."""

from __future__ import annotations

from tandem.api.table import Column, Table
from tandem.run_report import ReportRow, RunReport

_LAYERS = (
    Column("name", str, "the layer's, or the step's, name"),
    Column("operators", str, "what it computes, with + between operators"),
    Column("device", str, "which device computed it"),
    Column("macs", int, "useful multiply-accumulates"),
    Column("cycles", int, "clock cycles of the accelerator; unknown of the CPU"),
    Column(
        "utilization", float, "useful multiply-accumulates / (cycles x multipliers), 0 to 1", ".1%"
    ),
    Column("seconds", float, "wall-clock time of the CPU, in s; unknown of the accelerator"),
    Column("reason", str, "why the CPU computed it"),
)


def layer_table(report: RunReport) -> Table:
    """A row for each layer of the accelerator and each step of the CPU, in their order."""
    return Table(_LAYERS, tuple(map(_row, report.rows)))


def _row(row: ReportRow) -> tuple[str | int | float | None, ...]:
    return (
        row.name,
        "+".join(row.operators),
        row.device,
        row.macs,
        row.cycles,
        row.utilization,
        row.seconds,
        row.reason,
    )

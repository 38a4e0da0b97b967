"""The machines of a search as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler.search.points import Point
from tandem.workbench.search.machine_text import describe, operation_names
from tandem.workbench.table import Column, Table, Value

_MACHINE = Column("machine", str, "array, log2 of the memories' bytes, bus, features, operations")
_TEXTS = {
    "features": "extensions of the instruction set",
    "alu_operations": "operations of the ALU beyond those of the instruction set",
}
"""The fields that are no numbers."""
_COSTS = (
    Column("cycles", float, "clock cycles of all networks, with their weights", ",.0f"),
    Column("milliseconds", float, "the time of these cycles at the machine's clock, in ms", ",.3f"),
    Column("area", float, "NAND2 equivalents", ",.0f"),
    Column("dram_bytes", float, "bytes from and to DRAM, instructions included", ",.0f"),
    Column("energy", float, "microjoules", ",.3f"),
    Column("mhz", float, "the clock of the machine, in MHz", ",.1f"),
    Column("front", bool, "whether no other machine is better in an objective and no worse in any"),
    Column("tuned_cycles", int, "clock cycles with tuned schedules"),
    Column("reason", str, "why the machine cannot run the networks"),
)


def points_table(points: Sequence[Point], fields: Sequence[str]) -> Table:
    """A row for each machine: some fields of its configuration, and what it costs."""
    columns = tuple(
        Column(field, str, _TEXTS[field])
        if field in _TEXTS
        else Column(field, int, f"the machine's field {field}", "d")
        for field in fields
    )
    return Table((_MACHINE, *columns, *_COSTS), tuple(_row(point, fields) for point in points))


def _row(point: Point, fields: Sequence[str]) -> tuple[Value, ...]:
    costs = point.costs
    return (
        describe(point.config),
        *(_field(getattr(point.config, field)) for field in fields),
        None if costs is None else costs.cycles,
        None if costs is None else costs.milliseconds,
        float(point.estimate.area),
        None if costs is None else costs.dram_bytes,
        None if costs is None else costs.energy,
        point.estimate.mhz,
        point.front,
        point.tuned_cycles,
        point.measured.reason or None,
    )


def _field(value: object) -> Value:
    if isinstance(value, frozenset):
        return " ".join(sorted(feature.value for feature in value))
    if isinstance(value, tuple):
        return operation_names(value)
    assert isinstance(value, int), "all other fields of a configuration are whole numbers"
    return value

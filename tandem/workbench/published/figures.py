"""Published figures, as a table."""

from __future__ import annotations

import json
from pathlib import Path

from tandem.workbench.table import Column, Table

_FILE = Path(__file__).with_name("figures.json")
_COLUMNS = (
    Column("system", str, "compiler and machine"),
    Column("what", str, "what was measured"),
    Column("value", float, "the figure, in the unit beside it", ",.10g"),
    Column("unit", str, "the figure's unit"),
    Column("conditions", str, "on what it was measured"),
    Column("source", str, "where it was published: paper and section, or pull request"),
    Column("url", str, "where that can be read"),
)


def published() -> Table:
    """Figures that others published of comparable accelerators: TVM with VDLA and VTA, Gemmini.

    Conditions differ from those of a run of yours; each row says what they were.
    """
    rows = json.loads(_FILE.read_text(encoding="utf-8"))
    return Table(
        _COLUMNS,
        tuple(tuple(_value(column, row) for column in _COLUMNS) for row in rows),
    )


def _value(column: Column, row: dict[str, str | float]) -> str | float:
    value = row[column.name]
    return float(value) if column.kind is float else value

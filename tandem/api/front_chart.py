"""The machines of a search as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.workbench.errors import ArgumentValueError, MissingPackageError
from tandem.workbench.table import Table

if TYPE_CHECKING:
    import altair

_KINDS = ("other machines", "front", "baseline", "beside")


def front_chart(
    points: Table, baseline: Table, beside: Table, objectives: tuple[str, ...]
) -> altair.Chart:
    """A chart of Altair: the machines by the first two objectives; raises as `Search.plot`."""
    if len(objectives) < 2:
        raise ArgumentValueError("a chart shows two objectives, and this search had one")
    try:
        import altair as alt
    except ImportError as error:
        raise MissingPackageError("plot", "Altair", "tandem-workbench[report]") from error
    first, second = objectives[:2]
    tables = (points, _KINDS[:2]), (baseline, _KINDS[2:3] * 2), (beside, _KINDS[3:] * 2)
    rows = [
        {**row, "kind": kind}
        for table, kinds in tables
        for row in table
        if row[first] is not None
        for kind in [kinds[bool(row["front"])]]
    ]
    columns = {column.name: column for column in points.columns}
    axes = (
        alt.X(f"{first}:Q", title=_title(columns[first].description), scale=_log(alt)),
        alt.Y(f"{second}:Q", title=_title(columns[second].description), scale=_log(alt)),
        alt.Color("kind:N", sort=_KINDS, title=None),
    )
    tips = [
        alt.Tooltip(name, type="nominal" if column.kind is str else "quantitative")
        for name, column in columns.items()
        if name not in ("front", "reason")
    ]
    chart = alt.Chart(alt.InlineData(values=rows))
    return chart.mark_point(filled=True).encode(*axes, tooltip=tips)


def _log(alt: Any) -> Any:
    return alt.Scale(type="log", nice=False, padding=8)


def _title(description: str) -> str:
    return description[:1].upper() + description[1:]

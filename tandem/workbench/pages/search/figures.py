"""The charts of a search's page, with their titles and explanations."""

from __future__ import annotations

from typing import Any

import altair as alt

from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.workbench.pages.charts import INK, PALE, Figure, Values, data, spec_of
from tandem.workbench.pages.picture import encode, styled
from tandem.workbench.pages.search.page import SearchPage

_HEIGHT = 420
_WIDTH = 640
_COLOUR, _MARKED = "#0072B2", "#D55E00"


def figures(page: SearchPage) -> tuple[Figure, ...]:
    """The charts for which the search has data, in the order of the page."""
    found = []
    if page.valid and len(page.objectives) > 1:
        first, second = page.objectives[:2]
        found.append(
            Figure(
                "front",
                f"{second.value} against {first.value}",
                "A point is a machine of the search. The line joins those that no other beats in "
                "one objective without losing in another; diamonds are the machine that they are "
                "compared with, and presets. Both axes are logarithmic.",
                spec_of(front_chart(page), _HEIGHT),
                leads=True,
            )
        )
    if len(page.valid) > 1:
        found.append(
            Figure(
                "progress",
                "Progress",
                "The volume that the first machines dominate, as a part of the final one: where "
                "the line is flat, further machines brought nothing.",
                progress_chart(page),
            )
        )
    return tuple(found)


def _row(page: SearchPage, point: Point, name: str = "") -> dict[str, Any]:
    share = page.utilization(point)
    row: dict[str, Any] = {
        objective.value: value
        for objective, value in zip(page.objectives, page.values(point), strict=True)
    }
    resources = point.estimate.resources
    return row | {
        "machine": f"{name}: {page.describe(point)}" if name else page.describe(point),
        "utilisation": "" if share is None else f"{share:.1%}",
        "layers bounded by": page.bounds(point),
        "clock": f"{point.estimate.mhz:g} MHz ({point.estimate.clock_source})",
        "resources": ""
        if resources is None
        else ", ".join(f"{number:,} {kind}" for kind, number in resources.items()),
    }


def _tooltip(page: SearchPage) -> list[Any]:
    texts = ("machine", "utilisation", "layers bounded by", "clock", "resources")
    numbers = [
        alt.Tooltip(f"{objective.value}:Q", format=_format(objective))
        for objective in page.objectives
    ]
    return [*(alt.Tooltip(f"{text}:N") for text in texts), *numbers]


def _title(objective: Objective) -> str:
    return ", ".join(filter(None, (objective.value, objective.unit)))


def _format(objective: Objective) -> str:
    return ",.3f" if objective in (Objective.MILLISECONDS, Objective.ENERGY) else ",.0f"


def front_picture(page: SearchPage, kind: str) -> bytes:
    """The front as a picture; `kind` is svg or png."""
    sized = front_chart(page).properties(width=_WIDTH, height=_HEIGHT)
    return encode(styled(sized), kind)


def front_chart(page: SearchPage) -> alt.LayerChart:
    """The machines by the first two objectives."""
    first, second = page.objectives[:2]
    scale = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X(f"{first.value}:Q", scale=scale, title=_title(first))
    y = alt.Y(f"{second.value}:Q", scale=scale, title=_title(second))
    tooltip = _tooltip(page)
    rest: Values = [_row(page, point) for point in page.valid if not point.front]
    front: Values = [_row(page, point) for point in page.front]
    marked: Values = [
        _row(page, one.point, one.name) | {"name": one.name}
        for one in page.marked
        if one.point.costs is not None
    ]
    base = alt.Chart(data(front)).encode(x=x, y=y)
    layers = [
        alt.Chart(data(rest))
        .mark_point(filled=True, size=14, opacity=0.35, color=PALE)
        .encode(x=x, y=y, tooltip=tooltip),
        base.mark_line(interpolate="step-after", color=_COLOUR, strokeWidth=1),
        base.mark_point(filled=True, size=40, opacity=1, color=_COLOUR).encode(tooltip=tooltip),
    ]
    if marked:
        named = alt.Chart(data(marked)).encode(x=x, y=y)
        layers += [
            named.mark_point(
                filled=True, shape="diamond", size=90, opacity=1, color=_MARKED
            ).encode(tooltip=tooltip),
            named.mark_text(align="left", dx=8, fontSize=11, color=INK).encode(text="name:N"),
        ]
    return alt.LayerChart(layer=layers)


def progress_chart(page: SearchPage) -> dict[str, Any]:
    """The hypervolume over the number of machines."""
    values: Values = [{"machines": end, "volume": share} for end, share in page.progress()]
    chart = (
        alt.Chart(data(values))
        .mark_line(interpolate="step-after", color=_COLOUR, strokeWidth=2)
        .encode(
            x=alt.X("machines:Q", axis=alt.Axis(format="d", tickMinStep=1)),
            y=alt.Y("volume:Q", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)),
            tooltip=["machines:Q", alt.Tooltip("volume:Q", format=".2%")],
        )
    )
    return spec_of(chart, 220)

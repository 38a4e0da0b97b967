"""The curves of a training: losses, accuracy and rate by epoch."""

from __future__ import annotations

import altair as alt

from tandem.workbench.pages.charts import ChartSpec, Figure, Values, data, spec_of
from tandem.workbench.pages.training.page import TrainingPage

_COLOURS = ["#0072B2", "#D55E00"]
_DASHES = [[1, 0], [6, 3]]
"""Lines differ by more than colour."""
_HEIGHT = 260


def figures(page: TrainingPage) -> tuple[Figure, ...]:
    """The charts of a page; of what was not measured there is none."""
    text = "The mean over each epoch's steps, and, after it, over the samples that are held out."
    losses = _lines(page, {"training": "loss", "held out": "held_out"}, "loss", "~g")
    shares = _lines(page, {"held out": "accuracy"}, "accuracy", ".1%")
    rates = _lines(page, {"rate": "rate"}, "learning rate", ".2~e")
    found = [
        ("loss", "Loss", text, losses),
        ("accuracy", "Accuracy", "The part of the held-out samples that is right.", shares),
        ("rate", "Learning rate", "Of the last step of each epoch.", rates),
    ]
    return tuple(
        Figure(key, title, said, spec, leads=key != "rate")
        for key, title, said, spec in found
        if spec is not None
    )


def _lines(page: TrainingPage, columns: dict[str, str], title: str, form: str) -> ChartSpec | None:
    """A line for each column of the epochs; None if none has a value."""
    values: Values = [
        {"of": name, "epoch": row["epoch"], "value": row[column]}
        for name, column in columns.items()
        for row in page.epochs
        if row[column] is not None
    ]
    if not values:
        return None
    names = [name for name in columns if any(value["of"] == name for value in values)]
    legend = alt.Legend(symbolType="stroke") if len(names) > 1 else None
    scale = alt.Scale(domain=names, range=_COLOURS[: len(names)])
    dashes = alt.Scale(domain=names, range=_DASHES[: len(names)])
    chart = (
        alt.Chart(data(values))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("epoch:Q", axis=alt.Axis(title="epoch", format="d", tickMinStep=1, grid=False)),
            y=alt.Y(
                "value:Q",
                axis=alt.Axis(title=title, format=form),
                scale=alt.Scale(zero=False),
            ),
            color=alt.Color("of:N", scale=scale, legend=legend),
            strokeDash=alt.StrokeDash("of:N", scale=dashes, legend=legend),
            tooltip=["of:N", "epoch:Q", alt.Tooltip("value:Q", format=".4g")],
        )
    )
    return spec_of(chart, _HEIGHT)

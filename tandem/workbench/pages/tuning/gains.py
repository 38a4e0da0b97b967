"""Which features of choices matter to a learned model of the measured ones."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.workbench.pages.charts import INK, ChartSpec, Values, data, spec_of
from tandem.workbench.pages.tuning.page import FeatureGain

_BAR = 22
"""The height of a feature in pixels."""
_COLOUR = "#0072B2"


def gain_bars(gains: Sequence[FeatureGain]) -> ChartSpec:
    """A bar for each feature, the greatest first."""
    values: Values = [
        {"feature": found.feature, "gain": found.gain, "text": f"{found.gain:.1%}"}
        for found in gains
    ]
    farthest = max(each.gain for each in gains)
    scale = alt.Scale(domain=[0, 1.1 * farthest or 1], nice=False)
    x = alt.X("gain:Q", scale=scale, axis=alt.Axis(title="part of the gain", format="%"))
    axis = alt.Axis(title=None, labelLimit=280, ticks=False, domain=False)
    y = alt.Y("feature:N", axis=axis, sort=[each.feature for each in gains])
    base = alt.Chart(data(values)).encode(y=y, x=x)
    bars = base.mark_bar(color=_COLOUR).encode(
        tooltip=["feature:N", alt.Tooltip("gain:Q", format=".1%")]
    )
    labels = base.mark_text(color=INK, align="left", baseline="middle", dx=6, fontSize=10)
    return spec_of(bars + labels.encode(text="text:N"), len(values) * _BAR)

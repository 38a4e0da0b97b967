"""The style of charts, and axes."""

from __future__ import annotations

from typing import Any

import altair as alt

from tandem.workbench.pages.charts import INK, data, layer_axis, short_axis, spec_of


def test_a_chart_as_json() -> None:
    chart = alt.Chart(data([{"a": 1}])).mark_bar().encode(x="a:Q")
    spec = spec_of(chart, 33)
    assert (spec["width"], spec["height"]) == ("container", 33)
    assert [*spec["datasets"].values()] == [[{"a": 1}]] or spec["data"]["values"] == [{"a": 1}]
    config = spec["config"]
    assert config["background"] == "transparent"
    assert config["axis"]["labelColor"] == config["axis"]["titleColor"] == INK
    assert config["legend"]["orient"] == "top"
    assert "stroke" in config["view"]


def test_axes() -> None:
    found: Any = layer_axis(("b", "a")).to_dict()
    assert (found["field"], found["sort"]) == ("layer", ["b", "a"])
    axis: Any = short_axis("bytes").to_dict()
    assert (axis["format"], axis["title"]) == ("~s", "bytes")
    assert axis["labelExpr"] == "datum.value ? datum.label : '0'"

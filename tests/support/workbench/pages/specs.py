"""What a chart's JSON draws: marks with their encodings, and rows of data."""

from __future__ import annotations

from typing import Any

from tandem.workbench.pages.charts import ChartSpec


def layer_of(spec: ChartSpec, mark: str, number: int = 0) -> dict[str, Any]:
    """The layer of a chart with a mark of this type, the first by default."""
    found = [each for each in spec["layer"] if each["mark"]["type"] == mark]
    return found[number]


def rows_of(spec: ChartSpec, layer: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a layer, or of the chart around it."""
    data = layer.get("data") or spec["data"]
    rows: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return rows


def fields(layer: dict[str, Any], channel: str = "tooltip") -> list[str]:
    """The fields of a channel that has several, as tooltips have."""
    return [each["field"] for each in layer["encoding"][channel]]

"""The chart of a search's machines."""

from __future__ import annotations

import pytest

from tandem.api.front_chart import front_chart
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.table import Column, Table

COLUMNS = (
    Column("machine", str, "its name"),
    Column("cycles", int, "cycles of all networks"),
    Column("area", float, "area, in tables"),
    Column("front", bool, "whether no other beats it"),
    Column("reason", str, "why not"),
)
POINTS = Table(
    COLUMNS,
    (
        ("a", 900, 1.0, True, None),
        ("b", 700, 1.5, False, None),
        ("c", None, None, False, "too small"),
    ),
)
BASELINE = Table(COLUMNS, (("base", 800, 2.0, False, None),))
BESIDE = Table(COLUMNS, (("mine", 850, 2.5, True, None), ("none", None, None, False, "no")))


def test_points_by_kind() -> None:
    """Whatever is beside is no part of the front."""
    spec = front_chart(POINTS, BASELINE, BESIDE, ("cycles", "area")).to_dict()
    ((name, rows),) = spec["datasets"].items()
    assert spec["data"]["name"] == name
    assert [(row["machine"], row["kind"]) for row in rows] == [
        ("a", "front"),
        ("b", "other machines"),
        ("base", "baseline"),
        ("mine", "beside"),
    ]
    encoding = spec["encoding"]
    assert (encoding["x"]["field"], encoding["y"]["field"]) == ("cycles", "area")
    assert encoding["x"]["title"] == "Cycles of all networks"
    assert encoding["y"]["title"] == "Area, in tables"
    assert encoding["x"]["scale"] == {"type": "log", "nice": False, "padding": 8}
    assert [(tip["field"], tip["type"]) for tip in encoding["tooltip"]] == [
        ("machine", "nominal"),
        ("cycles", "quantitative"),
        ("area", "quantitative"),
    ]
    assert spec["mark"] == {"type": "point", "filled": True}


def test_one_objective() -> None:
    with pytest.raises(ArgumentValueError, match=r"^a chart shows two objectives, and this search"):
        front_chart(POINTS, BASELINE, BESIDE, ("cycles",))

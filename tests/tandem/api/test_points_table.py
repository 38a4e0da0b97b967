"""Machines of a search as a table, and the front in its order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tandem.api.points_table import points_table
from tandem.api.search_result import Search
from tandem.compiler.search.estimates import Estimate
from tandem.compiler.search.objectives import Costs
from tandem.compiler.search.points import Point
from tandem.compiler.search.results import Measured
from tandem.hw.alu_terms import parse_term
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature
from tandem.workbench.errors import ArgumentValueError

OWN = CustomOperation("OWN", parse_term("a + b"))
TINY = load_config("tiny").replace(alu_operations=(OWN,))
FIELDS = ("bus_bits", "features", "alu_operations")


def point(cycles: float | None, *, front: bool = False, tuned: int | None = None) -> Point:
    costs = None if cycles is None else Costs(cycles, cycles / 4, 12.0, 77.0, 0.5)
    measured = Measured((), (), "does not fit" if cycles is None else "")
    return Point(TINY, measured, Estimate(1234, "model", 150.0, "given"), costs, front, tuned)


def test_rows() -> None:
    table = points_table([point(100.0, front=True, tuned=90), point(None)], FIELDS)
    first, second = table
    features = " ".join(sorted(each.value for each in TINY.features))
    machine = {"bus_bits": TINY.bus_bits, "features": features, "alu_operations": "OWN"}
    assert {name: first[name] for name in FIELDS} == machine
    assert {name: value for name, value in first.items() if name not in (*FIELDS, "machine")} == {
        "cycles": 100.0,
        "milliseconds": 25.0,
        "area": 1234.0,
        "dram_bytes": 77.0,
        "energy": 0.5,
        "mhz": 150.0,
        "front": True,
        "tuned_cycles": 90,
        "reason": None,
    }
    costs = ("cycles", "milliseconds", "dram_bytes", "energy", "tuned_cycles")
    assert [second[name] for name in costs] == [None] * 5
    assert (second["area"], second["front"], second["reason"]) == (1234.0, False, "does not fit")


def test_features_are_sorted() -> None:
    both = TINY.replace(features=frozenset({Feature.REQUANTISE, Feature.INPUT_OPERANDS}))
    one = replace(point(1.0), config=both)
    (row,) = points_table([one], ("features",))
    assert row["features"] == " ".join(
        sorted([Feature.REQUANTISE.value, Feature.INPUT_OPERANDS.value])
    )


def search(objectives: tuple[str, ...] = ("cycles", "area")) -> Search:
    points = points_table(
        [point(30.0, front=True), point(10.0), point(20.0, front=True), point(None)], ()
    )
    machines = cast(Any, ("m30", "m10", "m20", "none"))
    empty = points_table([], ())
    return Search(
        *(points, machines, points[1:2], objectives, 61.4, (), empty, None, None),
        cast(Any, None),
    )


def test_the_front_is_sorted_by_the_first_objective() -> None:
    found = search()
    assert found.front["cycles"].tolist() == [20.0, 30.0]
    assert [str(machine) for machine in found.front_machines] == ["m20", "m30"]
    assert repr(found).splitlines()[-1] == "4 machines, 2 on the front, in 61 s"
    assert found._repr_html_().endswith("<pre>4 machines, 2 on the front, in 61 s</pre>")


def test_a_chart_needs_two_objectives() -> None:
    with pytest.raises(ArgumentValueError, match=r"^a chart shows two objectives, and this search"):
        search(("cycles",)).plot()

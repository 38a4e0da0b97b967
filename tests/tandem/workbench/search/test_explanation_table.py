"""What steps around a machine change, as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.search.explanation import Explanation, Step
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.hw.features import Feature
from tandem.workbench.search.explanation_table import differences, explanation_table
from tests.support.compiler.search.search_points import point
from tests.support.hw.found_machines import FOUND_FOR_PYNQ

OBJECTIVES = (Objective.CYCLES, Objective.AREA)


def clocked(one: Point, mhz: float, source: str) -> Point:
    return replace(one, estimate=replace(one.estimate, mhz=mhz, clock_source=source))


@pytest.mark.parametrize("source", ["model", "given"])
def test_changes_are_parts_of_the_machine_in_the_middle(source: str) -> None:
    center = clocked(point(5_000, 900.0), 80.0, source)
    larger = clocked(point(4_000, 990.0, log_inp_buffer=14), 76.0, source)
    extended = clocked(point(5_000, 900.0, features=frozenset({Feature.OVERWRITE})), 80.0, source)
    found = clocked(point(4_500, 990.0, alu_operations=FOUND_FOR_PYNQ, alu_stages=3), 80.0, source)
    steps = (
        Step(("log_inp_buffer",), up=True, point=larger),
        Step(("bus_bits",), up=False, point=None, reason="too narrow"),
        Step(("log_wgt_buffer",), up=False, point=point(0, 9.0, log_wgt_buffer=9), reason="small"),
        Step(("features",), up=True, point=extended),
        Step(("alu_operations", "alu_stages"), up=True, point=found),
    )
    table = explanation_table(Explanation(center, steps), OBJECTIVES)
    assert table["change"] == [
        "log_inp_buffer 14",
        "bus_bits down",
        "log_wgt_buffer 9",
        "features overwrite",
        "alu_operations ADDB_SHR_MAX_MIN CUTB, alu_stages 3",
    ]
    changes = [pytest.approx(-0.2), None, None, 0, pytest.approx(-0.1)]
    assert [row["cycles"] for row in table] == changes
    assert [row["area"] for row in table] == [pytest.approx(0.1), None, None, 0, pytest.approx(0.1)]
    assert table["reason"] == [None, "too narrow", "small", None, None]
    clocks = [row["clock"] for row in table]
    if source == "model":
        assert clocks == [pytest.approx(-0.05), None, pytest.approx(0.25), 0, 0]
    else:
        assert clocks == [None] * 5


def test_names_are_no_difference() -> None:
    one, other = point(1, 1.0).config, point(1, 1.0, name="other", bus_bits=128).config
    assert differences(other, one) == {"bus_bits": 128}
    assert differences(one, one) == {}


def test_a_machine_without_operations_is_named_so() -> None:
    center = point(4_500, 990.0, alu_operations=FOUND_FOR_PYNQ, alu_stages=3)
    steps = (Step(("alu_operations", "alu_stages"), up=False, point=point(5_000, 900.0)),)
    table = explanation_table(Explanation(center, steps), OBJECTIVES)
    assert table["change"] == ["alu_operations none, alu_stages 1"]

"""A sketch while it is generated: names, decisions, and changes that may fail."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import matmul, relu_of_sum
from tests.support.compiler.tune.sketches import built


def test_names_in_decisions() -> None:
    builder, _ = built(Schedule.of(relu_of_sum(8)))
    assert builder.labels == {"a": "a0", "b": "a1", "total": "s0", "relu": "s1"}
    assert builder.program is builder.schedule.program
    assert (builder.partial, builder.outer, builder.owners) == (set(), {}, {})


def test_decisions_are_noted_in_their_order() -> None:
    builder, asked = built(Schedule.of(matmul()), s0__b=3)
    assert builder.choose("s0.a", ("x", "y")) == "x"
    assert builder.number("s0.b", (1, 2, 3)) == 3
    assert builder.trace.choice == {"s0.a": "x", "s0.b": 3}
    assert str(builder.trace) == "s0.a=x s0.b=3"
    assert asked == {"s0.a": ["x", "y"], "s0.b": [1, 2, 3]}


def test_one_option_is_no_decision() -> None:
    builder, asked = built(Schedule.of(matmul()))
    assert builder.choose("s0.a", ("x",)) == "x"
    assert builder.number("s0.b", [7]) == 7
    assert (builder.decisions, asked) == ([], {})


def split(builder_schedule: Schedule, factor: Setting) -> Schedule:
    """A split of eight iterations; refused where there are fewer than the factor."""
    return builder_schedule.split("C", "j", int(factor))


def test_what_a_schedule_refuses_is_tried_no_more() -> None:
    start = Schedule.of(matmul())
    builder, asked = built(start, s0__split=0)

    def changed(value: Setting) -> Schedule:
        return split(start, value)

    assert builder.attempt("s0.split", (0, 4), changed) == 4
    assert builder.schedule.program == start.split("C", "j", 4).program
    assert str(builder.trace) == "s0.split=4"
    assert asked == {"s0.split": [0, 4]}


def test_attempts_of_one_option() -> None:
    start = Schedule.of(matmul())
    builder, asked = built(start)
    assert builder.attempt("s0.split", (4,), lambda value: split(start, value)) == 4
    assert builder.schedule.program == start.split("C", "j", 4).program
    assert (builder.decisions, asked) == ([], {})


@pytest.mark.parametrize("options", [(0,), (0, -1)])
def test_no_option_is_possible(options: tuple[int, ...]) -> None:
    start = Schedule.of(matmul())
    builder, _ = built(start)
    with pytest.raises(ScheduleError, match="split"):
        builder.attempt("s0.split", options, lambda value: split(start, value))
    assert builder.schedule is start
    assert builder.decisions == []

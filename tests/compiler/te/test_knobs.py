"""Knobs of traces, and traces whose knobs are set, by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.te.knobs import Knob, When, bind, knob, knobs_of


@dataclass(frozen=True, slots=True)
class Step:
    """A step with two fields."""

    first: Any = 0
    second: Any = 0


def trace(*steps: Any) -> Any:
    return cast(Any, steps)


def test_values_of_settings() -> None:
    assert knob("size").value({"size": 8}) == 8
    named = knob("along", {"x": ("x_o", "x_i"), "y": None})
    assert named == Knob("along", (("x", ("x_o", "x_i")), ("y", None)))
    assert str(named) == "?along"
    assert named.value({"along": "x"}) == ("x_o", "x_i")
    assert named.value({"along": "y"}) is None
    with pytest.raises(ReplayError, match=r"^along is z: x, y are its options$"):
        named.value({"along": "z"})


STEPS = trace(
    Step(knob("b"), knob("a")),
    When("c", ("yes", "maybe"), trace(Step(knob("d")), When("a", (1,), trace(Step(7))))),
    Step(3, knob("b")),
    Step(4),
)


def test_names_in_the_order_of_their_first_use() -> None:
    assert knobs_of(STEPS) == ("b", "a", "c", "d")
    assert knobs_of(trace(Step(1))) == ()


def steps_of(choice: dict[str, Any]) -> tuple[Any, ...]:
    return bind(STEPS, choice)


def test_traces_with_settings() -> None:
    choice: dict[str, Any] = {"a": 1, "b": 2, "c": "yes", "d": 5}
    assert steps_of(choice) == (Step(2, 1), Step(5), Step(7), Step(3, 2), Step(4))
    assert steps_of({**choice, "a": 0}) == (Step(2, 0), Step(5), Step(3, 2), Step(4))
    assert steps_of({**choice, "c": "no"}) == (Step(2, 1), Step(3, 2), Step(4))
    # Steps without knobs are the same objects.
    assert steps_of(choice)[-1] is STEPS[-1]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"a": 1}, "no choice for b, c, d; choices for unknown knobs: none"),
        ({"a": 1, "e": 2, "b": 1, "f": 0}, "no choice for c, d; choices for unknown knobs: e, f"),
        (
            {"a": 1, "b": 1, "c": "no", "d": 1, "e": 2},
            "every knob has a choice; choices for unknown knobs: e",
        ),
    ],
)
def test_choices_that_do_not_fit(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplayError, match=f"^{message}$"):
        bind(STEPS, choice)

"""Which values attributes may have."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tandem.compiler.graph.attributes import Attributes, declared, fits, refusal
from tandem.compiler.graph.operators.parts import Pad
from tandem.compiler.ir import INT8, DType
from tandem.compiler.operators.arithmetic import Direction


@dataclass(frozen=True, slots=True)
class Several(Attributes):
    """One of each type."""

    number: int
    factor: float
    truth: bool
    dtype: DType
    way: Direction
    axes: tuple[int, ...]
    limit: float | int | None = None


GOOD = (3, 0.5, True, INT8, Direction.LEFT, (1, -2))


def test_declared_types_are_allowed() -> None:
    hints = declared(Several)
    assert refusal(Several(*GOOD), hints) == ""
    for limit in (None, 1, 1.5, float("inf")):
        assert refusal(Several(*GOOD, limit), hints) == ""
    assert list(declared(Several)) == [
        *("number", "factor", "truth", "dtype", "way", "axes", "limit")
    ]
    assert refusal(Attributes(), declared(Attributes)) == ""


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, True, "number is True, and has to be an integer"),
        (0, 1.0, "number is 1.0, and has to be an integer"),
        (1, 1, "factor is 1, and has to be a float"),
        (1, float("nan"), "factor is nan, and has to be a float"),
        (2, 1, "truth is 1, and has to be True or False"),
        (3, "int8", "dtype is 'int8', and has to be a type"),
        (4, "LEFT", "way is 'LEFT', and has to be one of LEFT, RIGHT"),
        (5, [1], "axes is [1], and has to be a tuple of integers"),
        (5, (1, True), "axes is (1, True), and has to be a tuple of integers"),
        (6, "x", "limit is 'x', and has to be a float or an integer or none"),
        (6, True, "limit is True, and has to be a float or an integer or none"),
    ],
)
def test_others_are_refused(place: int, value: object, message: str) -> None:
    given: list[object] = [*GOOD, None]
    given[place] = value
    assert refusal(Several(*given), declared(Several)) == message  # type: ignore[arg-type]


def test_padding_with_a_bool_or_a_number() -> None:
    hint = declared(Pad)["value"]
    assert all(fits(each, hint) for each in (True, 0, -0.5))
    assert not fits(None, hint)

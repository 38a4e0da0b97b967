"""set_layout, multi_buffer: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.parser import parse
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(matmul(6, 8, 5)).cache_read("B", ("C",), Scope.GLOBAL, "packed")
    golden("schedules/set_layout.txt", str(start.set_layout("packed", ("1/4", "0", "1%4"))))


@pytest.mark.parametrize("order", [("1", "0"), ("0/3", "1", "0%3"), ("1/5", "0/2", "1%5", "0%2")])
def test_any_order(order: tuple[str, ...]) -> None:
    start = Schedule.of(blur())
    agree(start.set_layout("blurx", order), start)
    tiled = start.split("blury", "y", 4, ("y", "yi")).compute_at("blurx", "blury", "y")
    agree(tiled.set_layout("blurx", order), start)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (("0",), "axis 1 of blurx must come once"),
        (("0", "1", "2"), "blurx has 2 axes"),
        (("0/2", "0%3", "1"), "axis 0 of blurx must come once"),
        (("0/2", "1"), "axis 0 of blurx must come once"),
        (("0/0", "0%0", "1"), "axis 0 of blurx must come once"),
        (("x", "1"), "'x' is neither an axis"),
    ],
)
def test_refuses(order: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        Schedule.of(blur()).set_layout("blurx", order)


def test_refuses_what_others_see() -> None:
    with pytest.raises(ScheduleError, match="image is an input or an output"):
        Schedule.of(blur()).set_layout("image", ("1", "0"))


def test_slots() -> None:
    start = Schedule.of(blur())
    tiled = start.split("blury", "y", 4, ("y", "yi")).compute_at("blurx", "blury", "y")
    several = tiled.set_scope("blurx", Scope.LOCAL).multi_buffer("blurx", 3)
    assert "alloc blurx: float32" in str(several)
    assert " @ local in 3 slots" in str(several)
    agree(several, start)
    assert parse(str(several)) == several.program
    with pytest.raises(ScheduleError, match="slots is 0: it must be 1 or more"):
        tiled.multi_buffer("blurx", 0)
    with pytest.raises(ScheduleError, match="image is an input or an output"):
        tiled.multi_buffer("image", 2)

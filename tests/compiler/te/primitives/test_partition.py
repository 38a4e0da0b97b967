"""partition: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    split = Schedule.of(matmul(10)).split("C", "i", 4, ("i", "ii"))
    golden("schedules/partition.txt", str(split.partition("C", "i", 2)))


@pytest.mark.parametrize("at", [1, 3, 5])
@pytest.mark.parametrize("axis", ["i", "j", "k"])
def test_at_every_iteration(axis: str, at: int) -> None:
    start = Schedule.of(matmul(6, 6, 6))
    agree(start.partition("C", axis, at), start)


def test_with_what_is_computed_inside() -> None:
    start = Schedule.of(blur())
    tiled = start.split("blury", "y", 4, ("y", "yi")).compute_at("blurx", "blury", "y")
    parts = tiled.partition("blury", "y", 2).vectorize("blurx", "x", 4)
    agree(parts.vectorize("blurx_tail", "x", 4), start)
    assert "where" not in str(tiled.partition("blury", "y", 2)).partition("blury_tail")[0]


def test_twice() -> None:
    start = Schedule.of(matmul())
    once = start.partition("C", "i", 4)
    with pytest.raises(ScheduleError, match="there is a C_tail already"):
        once.partition("C", "i", 2)
    agree(once.partition("C", "i", 2, "middle"), start)


def test_refuses() -> None:
    with pytest.raises(ScheduleError, match=r"C\.i has 6 iterations: at must be less"):
        Schedule.of(matmul()).partition("C", "i", 6)
    with pytest.raises(ScheduleError, match="at is 0: it must be 1 or more"):
        Schedule.of(matmul()).partition("C", "i", 0)

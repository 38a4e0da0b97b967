"""split: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(matmul())
    golden("schedules/split.txt", str(start.split("C", "i", 3).split("C", "k", 2, ("ko", "ki"))))


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 6, 7, 100])
@pytest.mark.parametrize("axis", ["i", "j", "k"])
def test_any_factor(axis: str, factor: int) -> None:
    start = Schedule.of(matmul())
    agree(start.split("C", axis, factor), start)


def test_again_and_again() -> None:
    """Each guard counts: without the inner one, terms would be added twice."""
    start = Schedule.of(matmul(k=12))
    split = start.split("C", "k", 4).split("C", "k_i", 3).split("C", "k_o", 2)
    agree(split, start)


def test_the_name_of_the_loop_is_free_again() -> None:
    start = Schedule.of(matmul())
    agree(start.split("C", "i", 2, ("i", "ii")), start)


@pytest.mark.parametrize(
    ("axis", "factor", "names", "message"),
    [
        ("i", 0, (), r"^split\(C, i, 0\): factor is 0: it must be 1 or more$"),
        ("x", 2, (), r"C has no loop x; its loops are i, j, k$"),
        ("i", 2, ("j", "ii"), r"C has a loop j already$"),
        ("i", 2, ("a", "a"), r"two different names are needed"),
        ("i", 2, ("a.b", "c"), r"'a.b' is no name for an axis"),
    ],
)
def test_refuses(axis: str, factor: int, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        Schedule.of(matmul()).split("C", axis, factor, names)


def test_refuses_an_unknown_stage_and_a_bound_loop() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match="there is no stage D"):
        start.split("D", "i", 2)
    with pytest.raises(ScheduleError, match=r"loop C\.i is unrolled already"):
        start.unroll("C", "i").split("C", "i", 2)

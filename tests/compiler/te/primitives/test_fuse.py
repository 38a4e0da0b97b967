"""fuse: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/fuse.txt", str(Schedule.of(matmul()).fuse("C", "i", "j")))


@pytest.mark.parametrize("factor", [1, 5, 7, 48])
def test_fused_and_split(factor: int) -> None:
    start = Schedule.of(matmul())
    agree(start.fuse("C", "i", "j", "ij").split("C", "ij", factor), start)


def test_refuses() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match=r"C\.k is not the only statement inside C\.i: reorder"):
        start.fuse("C", "i", "k")
    with pytest.raises(ScheduleError, match="one is a spatial loop of C and the other reduces"):
        start.fuse("C", "j", "k")
    with pytest.raises(ScheduleError, match="C has a loop k already"):
        start.fuse("C", "i", "j", "k")

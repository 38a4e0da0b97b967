"""rfactor: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.te import Tensor, cast, compute, max, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def rows(columns: int = 10, combine: Callable[..., object] = sum) -> Tensor:
    """Reductions of the rows of a matrix."""
    a = placeholder((3, columns), INT8, "A")
    k = reduce_axis(columns, "k")
    return compute((3,), lambda i: combine(cast(a[i, k], INT32), axis=k), "C")  # type: ignore[arg-type, return-value]


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/rfactor.txt", str(Schedule.of(rows()).rfactor("C", "k", 4)))


@pytest.mark.parametrize("combine", [sum, max])
@pytest.mark.parametrize("factor", [1, 3, 5, 10])
def test_results(factor: int, combine: Callable[..., object]) -> None:
    start = Schedule.of(rows(combine=combine))
    agree(start.rfactor("C", "k", factor), start)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_one_of_several_axes(axis: str) -> None:
    a = placeholder((2, 4, 6), INT8, "A")
    x, y = reduce_axis(4, "x"), reduce_axis(6, "y")
    start = Schedule.of(compute((2,), lambda i: sum(a[i, x, y], axis=(x, y)), "C"))
    agree(start.rfactor("C", axis, 4), start)


def test_partial_results_are_scheduled() -> None:
    start = Schedule.of(matmul(4, 4, 16))
    found = start.rfactor("C", "k", 4, "P", reassociate=True)
    found = found.compute_at("P", "C", "j").reorder("P", "k", "k_r").vectorize("P", "k_r")
    agree(found, start)


def test_what_follows_reads_the_same_buffer() -> None:
    a = placeholder((12,), INT32, "A")
    k = reduce_axis(12, "k")
    total = compute((), lambda: sum(a[k], axis=k), "total")
    start = Schedule.of(compute((12,), lambda i: a[i] - total[()], "out"))
    agree(start.rfactor("total", "k", 4), start)


def test_refuses() -> None:
    start = Schedule.of(rows())
    with pytest.raises(ScheduleError, match="C does not reduce along i, but along k"):
        start.rfactor("C", "i", 2)
    with pytest.raises(ScheduleError, match="k has 10 terms: factor must be no more"):
        start.rfactor("C", "k", 11)
    with pytest.raises(ScheduleError, match="factor is 0: it must be 1 or more"):
        start.rfactor("C", "k", 0)
    with pytest.raises(ScheduleError, match="C was scheduled before: rfactor comes first"):
        start.split("C", "k", 5).rfactor("C", "k", 2)
    with pytest.raises(ScheduleError, match="there is a A already"):
        start.rfactor("C", "k", 2, "A")
    with pytest.raises(ScheduleError, match="add floats in another order"):
        Schedule.of(matmul()).rfactor("C", "k", 2)
    with pytest.raises(ScheduleError, match="blury is no reduction with an initialiser"):
        Schedule.of(blur()).rfactor("blury", "y", 2)
    with pytest.raises(ScheduleError, match="C is no reduction with an initialiser of its own"):
        start.decompose_reduction("C", "k").rfactor("C", "k", 2)


def test_refuses_an_axis_of_the_new_name() -> None:
    a = placeholder((3, 10, 2), INT8, "A")
    k, rest = reduce_axis(10, "k"), reduce_axis(2, "k_r")
    twice = compute((3,), lambda i: sum(cast(a[i, k, rest], INT32), axis=(k, rest)), "C")
    with pytest.raises(ScheduleError, match="C has an axis k_r already"):
        Schedule.of(twice).rfactor("C", "k", 2)

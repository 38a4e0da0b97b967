"""reorder: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.te import cast, compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/reorder.txt", str(Schedule.of(matmul()).reorder("C", "k", "i", "j")))


@pytest.mark.parametrize("order", list(permutations("ijk")))
def test_any_order_of_elements_and_terms(order: tuple[str, ...]) -> None:
    start = Schedule.of(matmul())
    agree(start.reorder("C", *order), start)


def test_loops_between_keep_their_places() -> None:
    start = Schedule.of(matmul())
    agree(start.reorder("C", "k", "i"), start)
    assert str(start.reorder("C", "k", "i")) == str(start.reorder("C", "k", "j", "i"))


def test_floats_keep_the_order_of_their_terms() -> None:
    split = Schedule.of(matmul()).split("C", "k", 2)
    with pytest.raises(ScheduleError, match=r"would reduce floats along C\.k_i, C\.k_o, no longer"):
        split.reorder("C", "k_i", "k_o")
    agree(split.reorder("C", "k_i", "k_o", reassociate=True), split)


def test_integers_do_not_mind() -> None:
    a, r = placeholder((7, 9), INT8, "a"), reduce_axis(9, "r")
    start = Schedule.of(compute((7,), lambda i: sum(cast(a[i, r], INT32), r), "S"))
    agree(start.split("S", "r", 4).reorder("S", "r_i", "r_o", "i"), start)


def test_refuses() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match="two or more different axes"):
        start.reorder("C", "i", "i")
    at = Schedule.of(blur()).compute_at("blurx", "blury", "y")
    with pytest.raises(ScheduleError, match=r"between blury\.y and blury\.x lies more than loops"):
        at.reorder("blury", "x", "y")

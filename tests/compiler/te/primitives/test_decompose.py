"""decompose_reduction: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def test_golden(golden: Callable[[str, str], None]) -> None:
    start = Schedule.of(matmul()).split("C", "j", 3).reorder("C", "i", "j_o", "k", "j_i")
    golden("schedules/decompose_reduction.txt", str(start.decompose_reduction("C", "k")))


@pytest.mark.parametrize("axis", ["i", "j", "k"])
def test_at_every_loop(axis: str) -> None:
    start = Schedule.of(matmul())
    agree(start.decompose_reduction("C", axis), start)


def test_guards_of_terms_do_not_count() -> None:
    start = Schedule.of(matmul())
    split = (
        start.split("C", "k", 3).split("C", "i", 4).reorder("C", "i_o", "k_o", "i_i", "j", "k_i")
    )
    agree(split.decompose_reduction("C", "k_o"), start)


def test_the_new_stage_can_be_scheduled() -> None:
    start = Schedule.of(matmul()).reorder("C", "i", "k", "j")
    agree(start.decompose_reduction("C", "k").vectorize("C_init", "j").vectorize("C", "j"), start)


def test_the_first_part_of_a_reduction() -> None:
    """The other part goes on with what the first has summed."""
    a = placeholder((2, 3), INT8, "a")
    x, y = reduce_axis(2, "x"), reduce_axis(3, "y")
    start = Schedule.of(compute((), lambda: sum(a[x, y], (x, y)), "s"))
    parts = start.fuse("s", "x", "y").partition("s", "x_y", 2)
    agree(parts.decompose_reduction("s", "x_y"), start)
    with pytest.raises(ScheduleError, match="s_tail begins with y = 2, not 0: its reduction is"):
        parts.decompose_reduction("s_tail", "x_y")


def test_a_part_of_what_is_computed() -> None:
    start = Schedule.of(matmul())
    parts = start.partition("C", "i", 2)
    agree(parts.decompose_reduction("C_tail", "k").decompose_reduction("C", "k"), start)


def test_refuses() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match=r"C\.k, around C\.j, reduces C"):
        start.reorder("C", "i", "k", "j").decompose_reduction("C", "j")
    with pytest.raises(ScheduleError, match="C has no reduction initialiser, or has it elsewhere"):
        start.decompose_reduction("C", "k").decompose_reduction("C", "k")
    with pytest.raises(ScheduleError, match="blury has no reduction initialiser"):
        Schedule.of(blur()).decompose_reduction("blury", "y")

"""skip_terms: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.tensor import Reduction
from tandem.compiler.te.trace import trace_from_json, trace_to_json
from tests.support.compiler.te.schedules import agree, blur, matmul

Join = Callable[..., Reduction]


def window(join: Join = te.max, other: int = -128, start: int | None = -128) -> Tensor:
    """The greatest of three neighbours, none beyond the ends, by default."""
    data = placeholder((10,), INT8, "A")
    k = reduce_axis(3, "k")

    def element(i: Expr) -> Reduction:
        valid = te.all_of(i + k >= 1, i + k < 11)
        term = te.select(valid, te.cast(data[i + k - 1], INT32), te.const(other, INT32))
        return join(term, k) if start is None else join(term, k, start=start)

    return compute((10,), element, "C")


def started(tensor: Tensor) -> Schedule:
    """Starts apart, taps outside."""
    return Schedule.of(tensor).reorder("C", "k", "i").decompose_reduction("C", "k")


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/skip_terms.txt", str(started(window()).skip_terms("C")))


@pytest.mark.parametrize(
    ("join", "other", "start"),
    [
        (te.max, -128, -128),
        (te.max, -200, -128),
        (te.max, INT32.low, None),
        (te.min, 127, 127),
        (te.min, 128, 127),
        (te.sum, 0, None),
        (te.prod, 1, None),
    ],
)
def test_results_stay(join: Join, other: int, start: int | None) -> None:
    tensor = window(join, other, start)
    skipped = started(tensor).skip_terms("C")
    assert "select" not in str(skipped)
    agree(skipped, Schedule.of(tensor))


def test_one_condition_inside_another() -> None:
    data = placeholder((6,), INT32, "A")
    k = reduce_axis(4, "k")
    tensor = compute(
        (6,),
        lambda i: te.sum(te.select(i + k < 6, te.select(i >= k, data[i + k], 0), 0), k),
        "C",
    )
    skipped = started(tensor).skip_terms("C").skip_terms("C")
    assert "select" not in str(skipped)
    agree(skipped, Schedule.of(tensor))


def test_a_reduction_that_initialises_itself() -> None:
    """Also in iterations whose term is skipped."""
    tensor = window()
    skipped = Schedule.of(tensor).reorder("C", "k", "i").skip_terms("C")
    assert "select" not in str(skipped)
    agree(skipped, Schedule.of(tensor))
    agree(skipped.decompose_reduction("C", "k"), Schedule.of(tensor))
    with pytest.raises(ScheduleError, match=r"C reduces int32\(-127\) by max"):
        Schedule.of(window(te.max, -127)).skip_terms("C")


def test_after_other_primitives() -> None:
    """Conditions speak of the loops that there are; those of a split stay."""
    tensor = window()
    schedule = (
        Schedule.of(tensor)
        .split("C", "i", 4, ("i_o", "i_i"))
        .reorder("C", "i_o", "k", "i_i")
        .decompose_reduction("C", "k")
        .skip_terms("C")
    )
    agree(schedule, Schedule.of(tensor))
    agree(schedule.split("C", "i_i", 3).partition("C", "i_o", 1), Schedule.of(tensor))


def test_is_part_of_traces() -> None:
    schedule = started(window()).skip_terms("C")
    trace = trace_from_json(trace_to_json(schedule.trace))
    assert Schedule.of(window()).replay(trace).program == schedule.program


def test_refuses_what_may_change_a_result() -> None:
    with pytest.raises(
        ScheduleError, match=r"C reduces int32\(-127\) by max where .* which may change a result"
    ):
        started(window(te.max, -127)).skip_terms("C")
    with pytest.raises(ScheduleError, match=r"C reduces int32\(-128\) by max"):
        started(window(te.max, -128, None)).skip_terms("C")
    with pytest.raises(ScheduleError, match=r"C reduces int32\(126\) by min"):
        started(window(te.min, 126, 127)).skip_terms("C")
    with pytest.raises(ScheduleError, match=r"C reduces int32\(1\) by \+"):
        started(window(te.sum, 1, None)).skip_terms("C")
    with pytest.raises(ScheduleError, match=r"C reduces int32\(0\) by \*"):
        started(window(te.prod, 0, None)).skip_terms("C")


def test_refuses_other_stages() -> None:
    with pytest.raises(ScheduleError, match="blury does not reduce a select"):
        Schedule.of(blur()).skip_terms("blury")
    with pytest.raises(ScheduleError, match="C does not reduce a select"):
        Schedule.of(matmul()).decompose_reduction("C", "k").skip_terms("C")
    with pytest.raises(ScheduleError, match="there is no stage D"):
        started(window()).skip_terms("D")


def test_refuses_a_term_that_depends_on_data() -> None:
    data, other = placeholder((6,), FLOAT32, "A"), placeholder((6,), FLOAT32, "B")
    k = reduce_axis(2, "k")
    tensor = compute(
        (5,), lambda i: te.max(te.select(i + k < 5, data[i + k], other[i]), k, start=0.0), "C"
    )
    with pytest.raises(ScheduleError, match=r"C reduces B\[i\] by max"):
        started(tensor).skip_terms("C")

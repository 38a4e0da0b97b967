"""compute_inline: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te import compute
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul, relu_of_sum


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/compute_inline.txt", str(Schedule.of(blur()).compute_inline("blurx")))


def test_agrees() -> None:
    for tensor, stage in ((blur(), "blurx"), (relu_of_sum(), "total")):
        start = Schedule.of(tensor)
        agree(start.compute_inline(stage), start)


def test_whatever_was_done_to_its_loops() -> None:
    start = Schedule.of(blur())
    split = start.split("blurx", "y", 5).vectorize("blurx", "x")
    agree(split.compute_inline("blurx"), start)
    agree(start.compute_at("blurx", "blury", "y").compute_inline("blurx"), start)


def test_refuses() -> None:
    product = matmul()
    after = compute((6, 8), lambda i, j: product[i, j] + 1.0, "after")
    with pytest.raises(ScheduleError, match="C is a reduction: each reader would repeat it"):
        Schedule.of(after).compute_inline("C")
    with pytest.raises(
        ScheduleError, match="after is an input or an output, not an intermediate buffer"
    ):
        Schedule.of(after).compute_inline("after")
    with pytest.raises(ScheduleError, match="inline before set_layout"):
        Schedule.of(blur()).set_layout("blurx", ("1", "0")).compute_inline("blurx")
    cached = Schedule.of(blur()).cache_read("blurx", ("blury",), Scope.LOCAL)
    inside = cached.compute_at("blurx", "blurx_local", "d0")
    with pytest.raises(ScheduleError, match="blurx is computed inside the loops of blurx_local"):
        inside.compute_inline("blurx_local")

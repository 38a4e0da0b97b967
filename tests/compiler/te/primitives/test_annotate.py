"""vectorize, parallel, unroll, virtual_thread, eager: when iterations are independent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul, relu_of_sum

Step = Callable[[Schedule, str, str], Schedule]
STEPS: dict[str, Step] = {
    "vectorize": lambda s, stage, axis: s.vectorize(stage, axis),
    "parallel": lambda s, stage, axis: s.parallel(stage, axis),
    "unroll": lambda s, stage, axis: s.unroll(stage, axis),
    "virtual_thread": lambda s, stage, axis: s.virtual_thread(stage, axis),
    "eager": lambda s, stage, axis: s.eager(stage, axis),
}


def test_golden(golden: Callable[[str, str], None]) -> None:
    bound = Schedule.of(matmul()).parallel("C", "i").reorder("C", "k", "j").vectorize("C", "j", 4)
    golden("schedules/annotate.txt", str(bound))


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("axis", ["i", "j"])
def test_loops_that_name_elements(name: str, axis: str) -> None:
    start = Schedule.of(matmul())
    agree(STEPS[name](start, "C", axis), start)


@pytest.mark.parametrize("name", ["parallel", "virtual_thread"])
def test_reduction_loops_are_refused(name: str) -> None:
    with pytest.raises(ScheduleError, match=r"C reduces along C\.k"):
        STEPS[name](Schedule.of(matmul()), "C", "k")


def test_lanes_that_reduce() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match=r"is initialised inside C\.k: decompose_reduction"):
        start.vectorize("C", "k")
    apart = start.decompose_reduction("C", "k")
    with pytest.raises(ScheduleError, match=r"adds floats along C\.k; .* reassociate"):
        apart.vectorize("C", "k")
    agree(apart.vectorize("C", "k", reassociate=True), start)


def test_what_is_computed_inside_belongs_to_an_iteration() -> None:
    start = Schedule.of(blur())
    tiled = start.split("blury", "y", 4, ("y", "yi")).compute_at("blurx", "blury", "y")
    agree(tiled.parallel("blury", "y"), start)
    with pytest.raises(ScheduleError, match=r"each lane would need a blurx of its own"):
        tiled.vectorize("blury", "y")


def test_a_copy_s_loops() -> None:
    start = Schedule.of(relu_of_sum())
    cached = start.cache_write("relu", Scope.LOCAL).split("relu", "i", 5)
    agree(cached.compute_at("relu_local", "relu", "i_o").parallel("relu", "i_o"), start)


def test_one_inside_another() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match=r"C\.j lies inside C\.i: parallel"):
        start.parallel("C", "i").parallel("C", "j")
    with pytest.raises(ScheduleError, match=r"C\.j inside C\.i is parallel already"):
        start.parallel("C", "j").parallel("C", "i")
    with pytest.raises(ScheduleError, match=r"C\.j lies inside C\.i, vectorized already"):
        start.vectorize("C", "i").vectorize("C", "j")
    with pytest.raises(ScheduleError, match=r"loop C\.j inside it is vectorized"):
        start.vectorize("C", "j").vectorize("C", "i")

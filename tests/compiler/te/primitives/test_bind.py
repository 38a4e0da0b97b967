"""bind: loops over a GPU's blocks and threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.parser import parse
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.trace import trace_from_json, trace_to_json
from tests.support.compiler.machines.gpu.schedules import Tile, product, window
from tests.support.compiler.te.schedules import agree, blur, matmul


def bound() -> Schedule:
    """A product with a block for each row and a thread for each column."""
    return Schedule.of(matmul()).bind("C", "i", "blocks").bind("C", "j", "threads")


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/bind.txt", str(product(tile=Tile(slots=2))))


@pytest.mark.parametrize(
    "schedule", [bound(), product(), window()], ids=["rows", "tiles", "window"]
)
def test_results_stay(schedule: Schedule) -> None:
    agree(schedule, schedule)
    agree(bound(), Schedule.of(matmul()))


def test_text_and_trace() -> None:
    schedule = bound()
    assert parse(str(schedule)) == schedule.program
    trace = trace_from_json(trace_to_json(schedule.trace))
    assert Schedule.of(matmul()).replay(trace).program == schedule.program


def test_units() -> None:
    with pytest.raises(ScheduleError, match=r"bind\(C, i, warps\): 'warps' is none of blocks, thr"):
        Schedule.of(matmul()).bind("C", "i", "warps")


def test_reductions() -> None:
    for unit in ("blocks", "threads"):
        with pytest.raises(ScheduleError, match=r"C reduces along C\.k"):
            Schedule.of(matmul()).bind("C", "k", unit)


def test_what_holds_what() -> None:
    start = Schedule.of(matmul())
    with pytest.raises(ScheduleError, match=r"C\.j lies inside C\.i: threads"):
        start.bind("C", "i", "threads").bind("C", "j", "blocks")
    with pytest.raises(ScheduleError, match=r"C\.j inside C\.i: blocks already"):
        start.bind("C", "j", "blocks").bind("C", "i", "threads")
    with pytest.raises(ScheduleError, match=r"C\.j lies inside C\.i: parallel"):
        start.parallel("C", "i").bind("C", "j", "threads")
    with pytest.raises(ScheduleError, match=r"C\.j inside C\.i: parallel already"):
        start.parallel("C", "j").bind("C", "i", "blocks")
    with pytest.raises(ScheduleError, match=r"loop C\.i is blocks already"):
        start.bind("C", "i", "blocks").bind("C", "i", "threads")


def test_rows_that_others_write() -> None:
    tiled = Schedule.of(blur()).split("blury", "y", 4, ("y", "yi"))
    near = tiled.compute_at("blurx", "blury", "y")
    agree(near.bind("blury", "y", "blocks").bind("blurx", "y", "threads"), tiled)

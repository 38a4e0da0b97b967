"""Which loop of a stage is vectorized, and what lies around it."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.machines.cpu.schedules.lanes import run_in_lanes
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.te import placeholder
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import find_block, loops_on_path, path_to


def loops_of_columns(step: int) -> list[str]:
    """The loops of a copy whose lanes gather columns of a matrix, outermost first; from one column
    to the next it goes `step` columns on."""
    x = placeholder((32, 8 * step), FLOAT32, "X")
    copy = te.compute((1, 8, 32), lambda a, i, k: x[k, i * step + a], "c", ["a", "i", "k"])
    schedule = run_in_lanes(Schedule.of(copy, inputs=(x,)), "c", Simd(64, 32))
    block = find_block(schedule.program.body, "c")
    assert block is not None
    return [each.var.name for each in loops_on_path(path_to(schedule.program.body, block))]


def test_columns_of_one_cache_line_are_gathered_after_each_other() -> None:
    around = loops_of_columns(1)
    assert around.index("c.k") < around.index("c.i")


def test_columns_far_from_each_other_stay_in_their_order() -> None:
    """An axis of one element is at a stride of one element, and leads nowhere."""
    around = loops_of_columns(2)
    assert around.index("c.i") < around.index("c.k")

"""Terms that are written out: options, and the axes that are unrolled."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.stages import loop_extents
from tandem.compiler.tune.sketches.terms import write_out_terms
from tests.support.compiler.tune.sketches import built


def start(rows: int, columns: int) -> Schedule:
    a = placeholder((rows, columns), FLOAT32, "a")
    r, c = reduce_axis(rows, "r"), reduce_axis(columns, "c")
    return Schedule.of(compute((), lambda: sum(a[r, c], (r, c)), "s"))


@pytest.mark.parametrize(
    ("extents", "statements", "options"),
    [
        # None, the inner axis or both; parts of the inner one that divide it.
        ((2, 3), 1, [1, 3, 6]),
        ((2, 8), 1, [1, 2, 4, 8, 16]),
        ((3, 8), 1, [1, 2, 4, 8]),
        ((3, 32), 1, [1, 2, 4, 8, 16]),
        ((3, 12), 1, [1, 2, 4, 12]),
        # No more than 256 statements.
        ((2, 8), 32, [1, 2, 4, 8]),
        ((2, 8), 33, [1, 2, 4]),
        ((2, 8), 256, [1]),
        ((2, 8), 0, [1, 2, 4, 8, 16]),
    ],
)
def test_options(extents: tuple[int, int], statements: int, options: list[int]) -> None:
    builder, asked = built(start(*extents))
    sizes = loop_extents(builder.program, "s")
    found = write_out_terms(builder, "s0", "s", ["r", "c"], sizes, statements)
    assert asked.get("s0.unroll", [1]) == options
    assert found == (["r", "c"], [])


def test_what_is_unrolled() -> None:
    for number, unrolled in ((8, ["c"]), (16, ["r", "c"]), (1, [])):
        builder, _ = built(start(2, 8), s0__unroll=number)
        sizes = loop_extents(builder.program, "s")
        assert write_out_terms(builder, "s0", "s", ["r", "c"], sizes, 1) == (["r", "c"], unrolled)
        assert loop_extents(builder.program, "s") == {"r": 2, "c": 8}
    builder, _ = built(start(2, 8), s0__unroll=4)
    sizes = loop_extents(builder.program, "s")
    assert write_out_terms(builder, "s0", "s", ["r", "c"], sizes, 1) == (["r", "c", "c_w"], ["c_w"])
    assert loop_extents(builder.program, "s") == {"r": 2, "c": 2, "c_w": 4}
    assert str(builder.trace) == "s0.unroll=4"


def test_fewer_terms() -> None:
    builder, asked = built(start(2, 8), SketchRules(128, 16, most_terms=8))
    write_out_terms(builder, "s0", "s", ["r", "c"], loop_extents(builder.program, "s"), 1)
    assert asked["s0.unroll"] == [1, 2, 4, 8]


def test_axes_of_one_term() -> None:
    builder, asked = built(start(4, 1))
    found = write_out_terms(builder, "s0", "s", ["r", "c"], loop_extents(builder.program, "s"), 1)
    # The fewest axes that have so many terms.
    assert asked["s0.unroll"] == [1, 4]
    assert found == (["r", "c"], [])

"""Where stages are computed, and the tiles of those at the root."""

from __future__ import annotations

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import compute, placeholder
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.places import place
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.stages import loop_extents
from tests.support.compiler.te.schedules import blur
from tests.support.compiler.tune.sketches import built


def placed(
    rules: SketchRules | None = None, **values: Setting
) -> tuple[Builder, dict[str, list[Setting]]]:
    """The places of the stages of a blur of 8 x 16, its last stage first."""
    builder, asked = built(Schedule.of(blur(8, 16)), rules, **values)
    place(builder, "blury")
    place(builder, "blurx")
    return builder, asked


def test_tiles_at_the_root() -> None:
    builder, asked = placed(s1__tile__0=2, s1__tile__1=8)
    assert builder.owners == {"blury": "blury", "blurx": "blurx"}
    assert builder.outer == {"blury": ("y", "x"), "blurx": ("y", "x")}
    assert loop_extents(builder.program, "blury") == {"y": 4, "x": 2, "y_t": 2, "x_t": 8}
    # Three tiles of 3 rows have one row of 8 too many.
    assert asked["s1.tile.0"] == [1, 2, 3, 4, 8]
    # Along the last axis whole vectors, or all of it.
    assert asked["s1.tile.1"] == [4, 8, 16]
    assert asked["s0.at"] == ["root", 0, 1]
    # Of 10 rows.
    assert asked["s0.tile.0"] == [1, 2, 5, 10]


def test_inside_the_loops_of_the_reader() -> None:
    builder, _ = placed(s1__tile__0=4, s1__tile__1=16, s0__at=0)
    assert builder.owners == {"blury": "blury", "blurx": "blury"}
    assert "blurx" not in builder.outer
    assert allocated(builder.program.body)["blurx"].scope == Scope.LOCAL
    # Rows of a tile, and two more.
    assert loop_extents(builder.program, "blurx") == {"y": 6, "x": 16}


def test_loops_of_one_iteration_are_no_places() -> None:
    _, asked = placed(s1__tile__0=4, s1__tile__1=16)
    assert asked["s0.at"] == ["root", 0]


def test_what_would_be_computed_too_often() -> None:
    values: dict[str, Setting] = {"s1__tile__0": 1, "s1__tile__1": 4, "s0__at": 1}
    builder, _ = placed(SketchRules(128, 16, most_repeated=3), **values)
    assert builder.owners["blurx"] == "blury"
    # Each row three times: the place is refused, and another one taken.
    builder, _ = placed(SketchRules(128, 16, most_repeated=1), **values)
    assert builder.owners["blurx"] == "blurx"
    assert str(builder.trace).split()[2] == "s0.at=root"


def test_partial_results_have_whole_rows() -> None:
    builder, asked = built(Schedule.of(blur(8, 16)))
    builder.partial.add("blury")
    place(builder, "blury")
    assert "s1.tile.1" not in asked
    assert loop_extents(builder.program, "blury") == {"y": 8, "x": 1, "x_t": 16}


def test_only_the_last_two_long_axes_have_tiles() -> None:
    a = placeholder((4, 1, 8, 8), FLOAT32, "a")
    cube = compute((4, 1, 8, 8), lambda n, c, y, x: a[n, c, y, x] + 1.0, "cube")
    builder, asked = built(Schedule.of(cube))
    place(builder, "cube")
    assert asked == {"s0.tile.2": [1, 2, 3, 4, 8], "s0.tile.3": [4, 8]}
    assert builder.outer == {"cube": ("n", "c", "y", "x")}


def test_tiles_along_the_last_axis_are_whole_vectors_or_all_of_it() -> None:
    def options(columns: int, bits: int) -> list[Setting]:
        a = placeholder((3, columns), FLOAT32, "a")
        rows = compute((3, columns), lambda y, x: a[y, x] + 1.0, "rows")
        builder, asked = built(Schedule.of(rows), SketchRules(bits, 16))
        place(builder, "rows")
        return asked.get("s0.tile.1", [])

    # Two vectors of 8 are a seventh more than 14; of 20 the waste is more.
    assert options(14, 256) == [8, 14]
    assert options(20, 256) == []
    assert options(20, 128) == [4, 20]
    assert options(7, 256) == []

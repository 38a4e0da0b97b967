"""Innermost loops: which become vectors, and which are written out."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32, INT32, DType
from tandem.compiler.te import Tensor, compute, max, placeholder, reduce_axis, sum
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.loops import schedule_loops
from tandem.compiler.tune.sketches.rules import SketchRules
from tests.support.compiler.te.nests import nest
from tests.support.compiler.te.schedules import agree, matmul
from tests.support.compiler.tune.sketches import built

ANY_ORDER = SketchRules(128, 16, reassociate=True)


def scheduled(
    tensor: Tensor, rules: SketchRules | None = None, /, **values: Setting
) -> tuple[str, dict[str, list[Setting]]]:
    """The loops of a tensor's stage after decisions, and the options that there were; the program
    computes what it did."""
    start = Schedule.of(tensor)
    builder, asked = built(start, rules, **values)
    schedule_loops(builder, tensor.name)
    agree(builder.schedule, start)
    return nest(builder.schedule, tensor.name), asked


def doubled(rows: int, columns: int) -> Tensor:
    a = placeholder((rows, columns), FLOAT32, "a")
    return compute((rows, columns), lambda i, j: a[i, j] * 2.0, "t")


def transposed(rows: int, columns: int) -> Tensor:
    """No axis has a stride of one in both."""
    a = placeholder((columns, rows), FLOAT32, "a")
    return compute((rows, columns), lambda i, j: a[j, i] * 2.0, "t")


def scattered(rows: int, columns: int) -> Tensor:
    """No axis has a constant stride."""
    a = placeholder((columns,), FLOAT32, "a")
    return compute((rows, columns), lambda i, j: a[(i * j) % columns] * 2.0, "t")


def totals(rows: int, columns: int, dtype: DType = INT32) -> Tensor:
    a, k = placeholder((rows, columns), dtype, "a"), reduce_axis(columns, "k")
    return compute((rows,), lambda i: sum(a[i, k], k), "t")


def of_boxes(rows: int, height: int, width: int) -> Tensor:
    a = placeholder((rows, height, width), INT32, "a")
    y, x = reduce_axis(height, "y"), reduce_axis(width, "x")
    return compute((rows,), lambda i: sum(a[i, y, x], (y, x)), "t")


@pytest.mark.parametrize(
    ("tensor", "values", "loops", "options"),
    [
        (doubled(6, 8), {}, "i:6 j:8v", {"s0.vector": [8, 4], "s0.unroll": [0, 1]}),
        (doubled(6, 4), {}, "i:6 j:4v", {"s0.unroll": [0, 1]}),
        (doubled(6, 4), {"s0__unroll": 1}, "i:6u j:4v", {"s0.unroll": [0, 1]}),
        (doubled(8, 4), {"s0__unroll": 1}, "i:8u j:4v", {"s0.unroll": [0, 1]}),
        # What is not short is not written out.
        (doubled(9, 4), {"s0__unroll": 1}, "i:9 j:4v", {}),
        # Loops of one iteration are none.
        (doubled(1, 4), {"s0__unroll": 1}, "i:1 j:4v", {}),
        (doubled(4, 1), {}, "i:4v j:1", {}),
        (doubled(2, 2), {}, "i:2 j:2v", {"s0.unroll": [0, 1]}),
        (doubled(1, 1), {}, "i:1 j:1", {}),
        # Part of a long loop is a vector.
        (doubled(9, 8), {"s0__vector": 4}, "i:9 j:2 j_v:4v", {"s0.vector": [8, 4]}),
        (doubled(9, 32), {"s0__vector": 4}, "i:9 j:8 j_v:4v", {"s0.vector": [32, 4, 8, 16]}),
        (doubled(9, 33), {}, "i:9 j:8 j_v:4v", {"s0.vector": [4, 8, 16]}),
        # The last axis of a constant stride, if none has a stride of one everywhere.
        (transposed(8, 4), {}, "i:8 j:4v", {"s0.unroll": [0, 1]}),
        (scattered(4, 8), {}, "i:4 j:8", {}),
    ],
)
def test_stages_that_do_not_reduce(
    tensor: Tensor, values: dict[str, Setting], loops: str, options: dict[str, list[Setting]]
) -> None:
    assert scheduled(tensor, **values) == (loops, options)


def test_elements_that_are_no_whole_vectors() -> None:
    start = Schedule.of(doubled(6, 14))
    builder, asked = built(start, s0__vector=4, s0__unroll=1)
    schedule_loops(builder, "t")
    agree(builder.schedule, start)
    assert asked["s0.vector"] == [14, 4, 8]
    assert nest(builder.schedule, "t") == "i:6u j:3 j_v:4v"
    assert nest(builder.schedule, "t_tail") == "i:6u j:2v"


def test_lanes_of_an_outer_axis() -> None:
    """An axis with a stride of one everywhere comes last."""
    a = placeholder((4, 6), FLOAT32, "a")
    columns = compute((6, 4), lambda i, j: a[j, i] * 2.0, "t")
    start = Schedule.of(compute((6, 4), lambda i, j: columns[i, j] + 1.0, "u"))
    builder, asked = built(start.set_layout("t", ("1", "0")), s0__unroll=1)
    schedule_loops(builder, "t")
    agree(builder.schedule, start)
    assert nest(builder.schedule, "t") == "j:4u i:6v"
    assert asked == {"s0.vector": [6, 4], "s0.unroll": [0, 1]}


def test_the_last_two_loops_of_an_axis_may_be_lanes() -> None:
    for tensor, stage in ((doubled(3, 32), "t"), (matmul(3, 32, 5), "C")):
        start = Schedule.of(tensor).split(stage, "j", 16).split(stage, "j_i", 4)
        builder, asked = built(start)
        schedule_loops(builder, stage)
        agree(builder.schedule, start)
        assert asked["s0.lanes"] == ["j_i_o", "j_i_i"]


def test_lanes_of_results() -> None:
    """An axis along which neighbours are added becomes whole vectors."""
    loops, options = scheduled(matmul(6, 16, 5))
    assert loops == "i:6 j:4 k:5 j_v:4v"
    assert options == {
        "s0.mode": ["lanes", "rows"],
        "s0.vector": [4, 8, 16],
        "s0.beside": [1, 2],
        "s0.unroll": [1, 5],
    }
    loops, options = scheduled(matmul(4, 7, 5), s0__beside=4)
    assert (loops, "s0.vector" in options) == ("i:1 k:5 i_u:4u j:4v", False)
    assert options["s0.beside"] == [1, 2, 4]
    assert scheduled(matmul(6, 4, 1))[1]["s0.mode"] == ["lanes", "rows"]
    # Vectors of three elements are not worth it.
    assert scheduled(matmul(3, 3, 8)) == ("i:3 j:3 k:8", {})


def test_results_that_are_no_whole_vectors() -> None:
    """What is left of a loop is a vector of its own, with the same terms and rows."""
    start = Schedule.of(matmul(4, 14, 8))
    builder, asked = built(start, s0__vector=4, s0__beside=2, s0__unroll=2)
    schedule_loops(builder, "C")
    agree(builder.schedule, start)
    assert asked["s0.vector"] == [4, 8]
    assert nest(builder.schedule, "C") == "i:2 j:3 k:4 k_w:2u i_u:2u j_v:4v"
    assert nest(builder.schedule, "C_tail") == "i:2 k:4 k_w:2u i_u:2u j:2v"
    # Less than a vector is one.
    narrow = SketchRules(512, 16)
    assert scheduled(matmul(5, 6, 5), narrow)[0] == "i:5 k:5 j:6v"


def windows(stride: int) -> Tensor:
    """The greatest of three neighbours of a row."""
    a, k = placeholder((2, 16 * stride + 2), FLOAT32, "a"), reduce_axis(3, "k")
    return compute((2, 16), lambda i, j: max(a[i, j * stride + k], k), "t")


def test_lanes_of_results_that_read_every_second_element() -> None:
    """Lanes gather where no axis has neighbours everywhere."""
    for stride in (1, 2):
        loops, options = scheduled(windows(stride))
        assert loops == "i:2 j:4 k:3 j_v:4v"
        assert options["s0.mode"][0] == "lanes"
        assert options["s0.vector"] == [4, 8, 16]
    # Where an axis has neighbours everywhere, the lanes are along it.
    a, k = placeholder((3, 64), FLOAT32, "a"), reduce_axis(3, "k")
    columns = compute((16, 8), lambda i, j: max(a[k, i + j * 4], k), "t")
    start = Schedule.of(compute((16, 8), lambda i, j: columns[i, j] + 1.0, "u"))
    builder, asked = built(start.set_layout("t", ("1", "0")))
    schedule_loops(builder, "t")
    agree(builder.schedule, start)
    assert "s0.lanes" not in asked
    assert nest(builder.schedule, "t").endswith("i_v:4v")


def test_results_beside_each_other() -> None:
    choice: dict[str, Setting] = {"s0__vector": 8, "s0__beside": 2, "s0__unroll": 4}
    loops, options = scheduled(matmul(6, 16, 8), **choice)
    assert loops == "i:3 j:2 k:2 k_w:4u i_u:2u j_v:8v"
    # A term of two vectors is two statements.
    assert options["s0.unroll"] == [1, 2, 4, 8]
    few = SketchRules(128, 16, most_unrolled=8)
    _, options = scheduled(matmul(6, 16, 8), few, **choice)
    assert options["s0.unroll"] == [1, 2, 4]
    _, options = scheduled(matmul(6, 16, 8), few, s0__vector=16)
    assert options["s0.unroll"] == [1, 2]


def test_rows() -> None:
    loops, options = scheduled(matmul(6, 16, 8), s0__mode="rows", s0__beside=8)
    assert loops == "i:6 j:2 k:8 j_u:8u"
    assert options["s0.beside"] == [1, 2, 4, 8]
    rows: dict[str, list[Setting]] = {"s0.beside": [1, 2]}
    assert scheduled(totals(2, 3)) == ("i:2 k:3", rows)
    assert scheduled(totals(2, 3), s0__beside=2) == ("i:1 k:3 i_u:2u", rows)
    assert scheduled(totals(6, 3), s0__mode="rows", s0__beside=2)[0] == "i:3 k:3 i_u:2u"
    assert scheduled(totals(1, 3)) == ("i:1 k:3", {})


def test_lanes_of_terms() -> None:
    """Sums of integers have any order; those of floats if it is said."""
    assert scheduled(totals(6, 8, FLOAT32))[1]["s0.mode"] == ["lanes", "rows"]
    assert scheduled(totals(6, 8))[1]["s0.mode"] == ["lanes", "terms", "rows"]
    wanted = {"s0.mode": ["terms", "rows"], "s0.vector": [4, 8, 16]}
    assert scheduled(totals(2, 8, FLOAT32), ANY_ORDER) == ("i:2 k:2 k_v:4v", wanted)
    assert scheduled(totals(2, 8)) == ("i:2 k:2 k_v:4v", wanted)
    assert scheduled(totals(2, 4)) == ("i:2 k:4v", wanted)
    assert scheduled(totals(2, 16), s0__vector=16) == ("i:2 k:16v", wanted)
    assert scheduled(totals(2, 32), s0__vector=16) == ("i:2 k:2 k_v:16v", wanted)
    narrow = SketchRules(64, 16)
    _, options = scheduled(totals(2, 8), narrow)
    assert options["s0.vector"] == [2, 4, 8]


def test_terms_that_are_no_whole_vectors() -> None:
    start = Schedule.of(totals(6, 37))
    builder, _ = built(start, s0__mode="terms", s0__vector=16)
    schedule_loops(builder, "t")
    agree(builder.schedule, start)
    assert nest(builder.schedule, "t") == "i:6 k:2 k_v:16v"
    assert nest(builder.schedule, "t_tail").endswith("k:5v")


def test_terms_of_several_axes() -> None:
    """The last one becomes vectors, around which the others are added."""
    assert scheduled(of_boxes(2, 3, 8))[0] == "i:2 y:3 x:2 x_v:4v"
    # Of short axes the one that is longer, within the other.
    a = placeholder((2, 8, 3), INT32, "a")
    y, x = reduce_axis(8, "y"), reduce_axis(3, "x")
    columns = compute((2,), lambda i: sum(a[i, y, x], (y, x)), "t")
    assert scheduled(columns)[0] == "i:2 y:8 x:3"

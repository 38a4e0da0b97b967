"""compute_at: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import FLOAT32, INDEX, INT32
from tandem.compiler.te import cast, compute, maximum, placeholder, reduce_axis, select, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.te.schedules import agree, blur, matmul


def tiled_blur(height: int = 10, width: int = 12, rows: int = 4) -> Schedule:
    start = Schedule.of(blur(height, width))
    return start.tile("blury", ("y", "x"), (rows, 5), ("y", "x", "yi", "xi"))


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/compute_at.txt", str(tiled_blur().compute_at("blurx", "blury", "x")))


@pytest.mark.parametrize("axis", ["y", "x", "yi", "xi"])
@pytest.mark.parametrize("rows", [1, 4, 10])
def test_at_every_loop(axis: str, rows: int) -> None:
    start = Schedule.of(blur())
    agree(tiled_blur(rows=rows).compute_at("blurx", "blury", axis), start)


def test_moved_again() -> None:
    start = Schedule.of(blur())
    tiled = tiled_blur()
    inner = tiled.compute_at("blurx", "blury", "xi").compute_at("blurx", "blury", "y")
    assert str(inner) == str(tiled.compute_at("blurx", "blury", "y"))
    agree(inner, start)


def test_loops_of_its_own_afterwards() -> None:
    start = Schedule.of(blur())
    at = tiled_blur().compute_at("blurx", "blury", "x").vectorize("blurx", "x", 4)
    agree(at.unroll("blurx", "y").parallel("blury", "y"), start)


def test_a_chain() -> None:
    """Three stages, each computed where the next needs it."""
    a = placeholder((20,), FLOAT32, "a")
    b = compute((18,), lambda i: a[i] + a[i + 2], "b")
    c = compute((16,), lambda i: b[i] + b[i + 2], "c")
    d = compute((14,), lambda i: c[i] + c[i + 2], "d")
    start = Schedule.of(d)
    at = start.split("d", "i", 4).compute_at("c", "d", "i_o").compute_at("b", "d", "i_o")
    agree(at, start)
    agree(start.split("d", "i", 4).compute_at("c", "d", "i_o").compute_at("b", "c", "i"), start)


def test_a_sum_inside_its_reader() -> None:
    product = matmul(7, 9, 5)
    relu = compute((7, 9), lambda i, j: maximum(product[i, j], 0.0), "relu")
    start = Schedule.of(relu)
    tiled = start.tile("relu", ("i", "j"), (2, 4), ("i", "j", "ii", "ji"))
    at = tiled.compute_at("C", "relu", "j").reorder("C", "k", "i", "j").vectorize("C", "j")
    agree(at, start)


def rows_summed(terms: int) -> Schedule:
    """Sums of rows in four partial results each, the last of which have fewer terms."""
    x, k = placeholder((9, terms), INT32, "x"), reduce_axis(terms, "k")
    start = Schedule.of(compute((9,), lambda i: sum(x[i, k], axis=k), "y", ("i",)))
    return start.rfactor("y", "k", 4, "partial").split("y", "i", 5, ("i", "i_t"))


@pytest.mark.parametrize("terms", [33, 35, 36])
def test_the_terms_that_there_are(terms: int) -> None:
    """The condition of partial results stays, on the new loops."""
    start = rows_summed(terms)
    found = start.compute_at("partial", "y", "i")
    assert (f"partial.k * 4 + partial.k_r < {terms}" in str(found)) == (terms % 4 > 0)
    agree(found.vectorize("partial", "k_r"), start)


def test_terms_in_loops_that_were_split_are_refused() -> None:
    split = rows_summed(35).split("partial", "k", 3)
    with pytest.raises(
        ScheduleError, match=r"partial is computed where .* < 35: compute_at comes before split"
    ):
        split.compute_at("partial", "y", "i")
    whole = rows_summed(36)
    agree(whole.split("partial", "k", 3).compute_at("partial", "y", "i"), whole)


def test_two_readers_inside_one_loop() -> None:
    a = placeholder((12,), INT32, "a")
    b = compute((12,), lambda i: a[i] * 3, "b")
    c = compute((10,), lambda i: b[i] - b[i + 2], "c")
    d = compute((10,), lambda i: c[i] + b[i + 1], "d")
    start = Schedule.of(d)
    split = start.split("d", "i", 4)
    with pytest.raises(ScheduleError, match=r"c reads b outside d\.i_o"):
        split.compute_at("b", "d", "i_o")
    agree(split.compute_at("c", "d", "i_o").compute_at("b", "d", "i_o"), start)


def test_padding() -> None:
    """What lies outside is never computed, and never read."""
    a = placeholder((9,), INT32, "a")
    b = compute((9,), lambda i: a[i] + 1, "b")
    padded = compute((13,), lambda i: select((i >= 2) & (i < 11), b[i - 2], 0), "padded")
    r = reduce_axis(3, "r")
    c = compute((11,), lambda i: sum(padded[i + r], r), "c")
    start = Schedule.of(c)
    split = start.split("c", "i", 4)
    agree(split.compute_at("padded", "c", "i_o").compute_at("b", "c", "i_o"), start)
    agree(split.compute_at("padded", "c", "i_o").compute_at("b", "padded", "i"), start)


def test_strides_and_fused_loops() -> None:
    a = placeholder((4, 21), INT32, "a")
    b = compute((4, 21), lambda n, i: a[n, i] + 1, "b")
    c = compute((4, 10), lambda n, i: b[n, 2 * i] + b[n, 2 * i + 1], "c")
    start = Schedule.of(c)
    fused = start.fuse("c", "n", "i", "f").split("c", "f", 7)
    for axis in ("f_o", "f_i"):
        agree(fused.compute_at("b", "c", axis), start)


def test_an_index_from_data() -> None:
    """Which elements are read depends on data: all are computed, in each iteration."""
    table, where = placeholder((5,), FLOAT32, "table"), placeholder((6,), INT32, "where")
    doubled = compute((5,), lambda i: table[i] * 2.0, "doubled")
    index = compute((6,), lambda i: maximum(where[i] % 5, 0), "index")
    found = compute((6,), lambda i: doubled[cast(index[i], INDEX)], "found")
    start = Schedule.of(found)
    agree(start.compute_at("doubled", "found", "i"), start)
    agree(start.compute_at("index", "found", "i"), start)


def test_refuses() -> None:
    start = tiled_blur()
    with pytest.raises(ScheduleError, match="blury is an input or an output"):
        start.compute_at("blury", "blury", "y")
    with pytest.raises(ScheduleError, match=r"blury has no loop z; its loops are y, x, yi, xi"):
        start.compute_at("blurx", "blury", "z")
    with pytest.raises(ScheduleError, match=r"blury\.xi is vectorized"):
        start.vectorize("blury", "xi").compute_at("blurx", "blury", "xi")
    with pytest.raises(ScheduleError, match=r"blurx\.x is one of its own loops"):
        start.compute_at("blurx", "blurx", "x")
    with pytest.raises(ScheduleError, match="compute_at comes before set_layout"):
        start.set_layout("blurx", ("1", "0")).compute_at("blurx", "blury", "x")
    product = matmul()
    after = compute((6, 8), lambda i, j: product[i, j] + 1.0, "after")
    with pytest.raises(ScheduleError, match="C is decomposed: compute_at comes before"):
        Schedule.of(after).decompose_reduction("C", "k").compute_at("C", "after", "i")


def test_refuses_to_move_others_along() -> None:
    a = placeholder((12,), INT32, "a")
    b = compute((12,), lambda i: a[i] * 3, "b")
    c = compute((12,), lambda i: b[i] - 1, "c")
    d = compute((12,), lambda i: c[i] + 1, "d")
    at = Schedule.of(d).compute_at("b", "c", "i")
    with pytest.raises(ScheduleError, match="b is computed inside the loops of c"):
        at.compute_at("c", "d", "i")


def test_a_copy_in_between() -> None:
    start = Schedule.of(matmul(9, 8, 5))
    tiled = start.split("C", "i", 4, ("i", "ii")).reorder("C", "i", "k", "ii", "j")
    copied = tiled.cache_read("A", ("C",), Scope.LOCAL).compute_at("A_local", "C", "k")
    agree(copied, start)

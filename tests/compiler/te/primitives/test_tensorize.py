"""tensorize: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Invoke, IterKind
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te import Tensor, cast, compute, placeholder, reduce_axis, select, sum
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Reduction
from tandem.compiler.te.trace import trace_from_json, trace_to_json
from tests.support.compiler.te.schedules import agree

DOT = parse(
    """\
func dot_4x2(C: int32[4], A: uint8[2], B: int8[4, 2]) -> (C: int32[4]):
  for i in 4:
    for k in 2:
      C[i] = C[i] + int32(A[k]) * int32(B[i, k])
"""
)


CLEAR = parse(
    """\
func clear_4() -> (C: int32[4]):
  for i in 4:
    C[i] = 0
"""
)


def product(n: int = 3, m: int = 8, depth: int = 6, b_type: object = INT8) -> Tensor:
    a, b = placeholder((n, depth), UINT8, "A"), placeholder((m, depth), b_type, "B")  # type: ignore[arg-type]
    k = reduce_axis(depth, "k")
    return compute(
        (n, m), lambda i, j: sum(cast(b[j, k], INT32) * cast(a[i, k], INT32), axis=k), "C"
    )


def ready(tensor: Tensor) -> Schedule:
    split = Schedule.of(tensor).split("C", "j", 4).split("C", "k", 2)
    return split.reorder("C", "i", "j_o", "k_o", "j_i", "k_i").decompose_reduction("C", "k_o")


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("schedules/tensorize.txt", str(ready(product()).tensorize("C", "j_i", DOT)))


def test_agrees() -> None:
    """Factors stand in another order than in the intrinsic."""
    agree(ready(product()).tensorize("C", "j_i", DOT), Schedule.of(product()))


def tiled(tensor: Tensor) -> Schedule:
    """As `ready`, with a reduction that initialises itself."""
    split = Schedule.of(tensor).split("C", "j", 4).split("C", "k", 2)
    return split.reorder("C", "i", "j_o", "k_o", "j_i", "k_i")


def test_a_reduction_with_its_initialiser() -> None:
    """In each tile's first step; the loop over terms is none of the initialiser's."""
    done = tiled(product()).tensorize("C", "j_i", DOT, CLEAR)
    (block,) = blocks(done.program.body)
    assert isinstance(block.init, Invoke)
    assert (block.init.intrinsic, block.init.results) == (CLEAR, block.body.results)  # type: ignore[union-attr]
    assert [each.extent for each in block.axes(IterKind.REDUCE)] == [3]
    agree(done, Schedule.of(product()))
    agree(done.decompose_reduction("C", "k_o"), Schedule.of(product()))
    assert (
        trace_from_json(trace_to_json(done.trace), {"dot_4x2": DOT, "clear_4": CLEAR}) == done.trace
    )


def test_refuses_another_initialiser() -> None:
    ones = parse(str(text(CLEAR)).replace("= 0", "= 1"))
    with pytest.raises(ScheduleError, match="clear_4 does something else: const of int32 where"):
        tiled(product()).tensorize("C", "j_i", DOT, ones)
    two = parse(text(CLEAR).replace("4]", "2]").replace("in 4", "in 2"))
    with pytest.raises(ScheduleError, match=r"C\.j_i have \[4\] iterations; those of clear_4 have"):
        tiled(product()).tensorize("C", "j_i", DOT, two)


def test_terms_that_are_skipped_outside_of_the_tile() -> None:
    """All tiles are initialised. A condition on the tile's own loops is none of the intrinsic's."""

    def padded(within: str) -> Schedule:
        a, b = placeholder((3, 6), UINT8, "A"), placeholder((8, 6), INT8, "B")
        k = reduce_axis(6, "k")

        def element(i: Expr, j: Expr) -> Reduction:
            valid = i >= 1 if within == "i" else k >= 1
            return sum(select(valid, cast(b[j, k], INT32) * cast(a[i, k], INT32), 0), axis=k)

        return tiled(compute((3, 8), element, "C"))

    done = padded("i").skip_terms("C").tensorize("C", "j_i", DOT, CLEAR)
    assert "select" not in text(done.program)
    agree(done, padded("i"))
    with pytest.raises(ScheduleError, match="the tile is not always whole: C is guarded inside it"):
        padded("k").skip_terms("C").tensorize("C", "j_i", DOT, CLEAR)


def test_loops_around_it_can_still_be_moved() -> None:
    done = ready(product()).tensorize("C", "j_i", DOT)
    agree(done.unroll("C", "k_o").parallel("C", "i"), Schedule.of(product()))


def test_refuses() -> None:
    schedule = ready(product())
    with pytest.raises(ScheduleError, match=r"C\.k_i have \[2\] iterations; those of dot_4x2 have"):
        schedule.tensorize("C", "k_i", DOT)
    start = Schedule.of(product()).split("C", "j", 4).split("C", "k", 2)
    tile = start.reorder("C", "i", "j_o", "k_o", "j_i", "k_i")
    with pytest.raises(ScheduleError, match="is initialised in the tile: name an intrinsic that"):
        tile.tensorize("C", "j_i", DOT)
    with pytest.raises(ScheduleError, match=r"C has no initialiser, for clear_4$"):
        schedule.tensorize("C", "j_i", DOT, CLEAR)
    with pytest.raises(ScheduleError, match="dot_4x2 does something else: B for its"):
        ready(product(b_type=UINT8)).tensorize("C", "j_i", DOT)
    with pytest.raises(ScheduleError, match="the tile is not always whole"):
        ready(product(m=7)).tensorize("C", "j_i", DOT)
    swapped = ready(product(m=4, depth=8))
    with pytest.raises(ScheduleError, match="is unrolled"):
        swapped.unroll("C", "j_i").tensorize("C", "j_i", DOT)


def test_refuses_another_statement() -> None:
    a, b = placeholder((3, 6), UINT8, "A"), placeholder((8, 6), INT8, "B")
    k = reduce_axis(6, "k")
    other = compute(
        (3, 8), lambda i, j: sum(cast(b[j, k], INT32) + cast(a[i, k], INT32), axis=k), "C"
    )
    with pytest.raises(ScheduleError, match=r"dot_4x2 does something else: \+ of int32 where"):
        ready(other).tensorize("C", "j_i", DOT)
    swapped = compute(
        (8, 3), lambda j, i: sum(cast(b[j, k], INT32) * cast(a[i, k], INT32), axis=k), "C"
    )
    split = Schedule.of(swapped).split("C", "j", 4).split("C", "k", 2)
    tile = split.reorder("C", "i", "j_o", "k_o", "k_i", "j_i").decompose_reduction("C", "k_o")
    with pytest.raises(ScheduleError, match=r"have \[2, 4\] iterations"):
        tile.tensorize("C", "k_i", DOT)


def test_what_is_tensorized_stays_at_its_place() -> None:
    tensor = product()
    after = compute((3, 8), lambda i, j: tensor[i, j] + 1, "after")
    done = ready(after).tensorize("C", "j_i", DOT)
    with pytest.raises(ScheduleError, match="C is tensorized: compute_at comes before"):
        done.compute_at("C", "after", "i")

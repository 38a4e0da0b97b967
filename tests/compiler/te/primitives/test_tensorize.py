"""tensorize: before and after, results, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
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


STEP = "C[i] = C[i] + int32(B[i, k]) * int32(A[k])"
"""What the intrinsic does in each iteration, with factors in the statement's order."""


@pytest.mark.parametrize(
    ("parameters", "step", "message"),
    [
        (
            "A: uint8[2], B: int8[4, 2]",
            f"{STEP}\n      C[i] = C[i] + 1",
            "the behaviour of dot_4x2 is no single store in loops",
        ),
        ("A: uint8[2], B: int8[4, 2], D: int8[3]", STEP, "dot_4x2 never uses D"),
        (
            "A: uint8[2], B: int8[2, 4]",
            "C[i] = C[i] + int32(B[k, i]) * int32(A[k])",
            "B for its B: indexed along other loops",
        ),
        (
            "A: uint8[4, 2], B: int8[4, 2]",
            "C[i] = C[i] + int32(B[i, k]) * int32(A[i, k])",
            "A for its A: indexed along other loops",
        ),
        (
            "A: uint8[2, 4], B: int8[4, 2]",
            "C[i] = C[i] + int32(B[i, k]) * int32(A[k, i])",
            "A for its A: indexed along fewer loops",
        ),
        (
            "A: uint8[2], B: int8[4, 2]",
            STEP.replace("+", "-"),
            r"\+ of int32 where it has - of int32",
        ),
        (
            "A: uint8[2], B: int8[4, 2]",
            STEP.replace("int32(A[k])", "-int32(A[k])"),
            "a cast to int32 where it has - of int32",
        ),
        (
            "A: uint8[2], B: int8[4, 2] @ local",
            STEP,
            "B for its B: in global, not in local",
        ),
        ("A: uint8[2], B: int16[4, 2]", STEP, "B for its B: int8, not int16"),
    ],
)
def test_refuses_another_intrinsic(parameters: str, step: str, message: str) -> None:
    """Each differs from the statement in one thing."""
    head = (
        text(DOT).partition("    for k in 2")[0].replace("A: uint8[2], B: int8[4, 2]", parameters)
    )
    other = parse(f"{head}    for k in 2:\n      {step}\n")
    with pytest.raises(ScheduleError, match=message):
        ready(product()).tensorize("C", "j_i", other)


def test_a_parameter_has_one_box() -> None:
    """An intrinsic that squares takes no product of two buffers."""
    square = parse(
        """\
func square_2(C: int32[], A: int8[2]) -> (C: int32[]):
  for k in 2:
    C[] = C[] + int32(A[k]) * int32(A[k])
"""
    )

    def sums(other: str) -> Schedule:
        a, b = placeholder((3, 6), INT8, "A"), placeholder((3, 6), INT8, "B")
        second, k = {"A": a, "B": b}[other], reduce_axis(6, "k")
        squares = compute(
            (3,), lambda i: sum(cast(a[i, k], INT32) * cast(second[i, k], INT32), axis=k), "C"
        )
        return Schedule.of(squares).split("C", "k", 2).decompose_reduction("C", "k_o")

    agree(sums("A").tensorize("C", "k_i", square), sums("A"))
    with pytest.raises(ScheduleError, match="B for its A: another box than before"):
        sums("B").tensorize("C", "k_i", square)


def test_refuses_other_loops() -> None:
    fused = Schedule.of(product(m=4)).fuse("C", "i", "j", "f").reorder("C", "f", "k")
    with pytest.raises(ScheduleError, match="axis i of C is no sum of tile loops"):
        fused.split("C", "k", 2).split("C", "f", 4).reorder(
            "C", "f_o", "k_o", "f_i", "k_i"
        ).decompose_reduction("C", "k_o").tensorize("C", "f_i", DOT)
    once = ready(product(m=4, depth=2)).tensorize("C", "j_i", DOT)
    with pytest.raises(ScheduleError, match="C is tensorized already"):
        once.tensorize("C", "k_o", DOT)
    tensor = product()
    after = compute((3, 8), lambda i, j: tensor[i, j] + 1, "after")
    at = Schedule.of(after).compute_at("C", "after", "j")
    with pytest.raises(ScheduleError, match=r"inside after\.j lies C"):
        at.tensorize("after", "j", DOT)
    with pytest.raises(ScheduleError, match="C has no loop z; its loops are i, j, k"):
        Schedule.of(product()).tensorize("C", "z", DOT)


def test_buffers_of_an_intrinsic_stay_as_they_are() -> None:
    copied = ready(product()).cache_read("A", ("C",), Scope.LOCAL)
    done = copied.tensorize("C", "j_i", DOT)
    agree(done, Schedule.of(product()))
    with pytest.raises(ScheduleError, match="dot_4x2 uses A_local: set_layout comes before"):
        done.set_layout("A_local", ("1", "0"))
    with pytest.raises(ScheduleError, match="C does not read B, or reads it through an intrinsic"):
        done.cache_read("B", ("C",), Scope.LOCAL)
    with pytest.raises(ScheduleError, match="C is tensorized: compute_at comes before"):
        done.compute_at("A_local", "C", "i")

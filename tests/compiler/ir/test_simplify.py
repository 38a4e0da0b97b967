"""`compiler.ir.simplify`: equal values, less text."""

from __future__ import annotations

import math
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT64,
    UINT8,
    Buffer,
    Expr,
    Load,
    Seq,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.interval import NO_RANGES
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import cast, const, equal, index, maximum, minimum, not_equal, select
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.simplify import simplify, simplify_function
from tests.support.compiler.ir.index_values import conditions, indices, points, ranges, value
from tests.support.compiler.ir.ir_strategies import arrays, functions

NAMES = ("i", "j", "k")
EXTREMES = (-(1 << 63), (1 << 63) - 1)
WHERE = {
    **{"i": Interval(0, 9), "j": Interval(0, 6), "k": Interval(0, 3)},
    **{"fo": Interval(0, 63), "fi": Interval(0, 6)},
}
i, j, k, n = (Var(name) for name in (*NAMES, "n"))
f = Var("fo") * 7 + Var("fi")
p, q = Var("p", BOOL), Var("q", BOOL)
x = Var("x", FLOAT32)
b = Var("b", INT8)
WIDE = Load(Buffer("wide", (8,), INT64), (k,))


@given(indices(NAMES) | conditions(NAMES), ranges(NAMES, 5))
def test_index_arithmetic_keeps_its_value(expr: Expr, where: dict[str, Interval]) -> None:
    simple = simplify(expr, where)
    for point in points(where):
        assert value(simple, point) == value(expr, point), text(simple)
    assert simplify(simple, where) == simple


ENDS = (*range(-(1 << 63), -(1 << 63) + 12), -1, 0, 1, *range((1 << 63) - 12, 1 << 63))


@pytest.mark.parametrize(
    "expr",
    [
        pytest.param(WIDE < i - 3, id="moved to the other side"),
        pytest.param(WIDE - 1 < i, id="shifted below"),
        pytest.param((WIDE + 10) % 9 // 3, id="quotient of a remainder"),
        pytest.param(((WIDE + 1) % 9 + i) % 3, id="remainder of a remainder"),
        pytest.param((WIDE // 3 + 1) // 5, id="quotient of a quotient"),
        pytest.param((WIDE + 1) // 4 * 4 + (WIDE + 1) % 4, id="put together"),
        pytest.param((WIDE + 1) // 3 % 5 * 3 + (WIDE + 1) % 3, id="remainders put together"),
        pytest.param(WIDE - WIDE // 3 * 3, id="remainder found"),
        pytest.param(minimum(minimum(WIDE + 1, 5), WIDE), id="minimum"),
        pytest.param(WIDE * (i * 2) // 2, id="product"),
        pytest.param(WIDE * 3 // 3, id="multiple"),
        pytest.param(WIDE // -3, id="negative divisor"),
        pytest.param(WIDE % -3, id="remainder by a negative divisor"),
        pytest.param(WIDE // -1, id="divided by -1"),
        pytest.param(-minimum(WIDE, 7) < -7, id="negative"),
        pytest.param(minimum(WIDE, 7) - 1 < 7, id="one less"),
        pytest.param((minimum(WIDE, 7) - 1) // 3 < 3, id="quotient of one less"),
        pytest.param(~WIDE + WIDE, id="complement"),
        pytest.param(Unary(UnaryOp.ABS, WIDE) < 0, id="magnitude"),
        pytest.param(cast(cast(WIDE, INT8), INT64) * (1 << 57) // 2, id="narrow times wide"),
    ],
)
def test_elements_that_overflow(expr: Expr) -> None:
    where = {"i": Interval(0, 4), "k": Interval(0, 0)}
    simple = simplify(expr, where)
    for end in ENDS:
        for point in points(where):
            point["wide[0]"] = end
            assert value(simple, point) == value(expr, point), text(simple)
    assert simplify(simple, where) == simple


NUMBERS = st.sampled_from(EXTREMES) | st.integers(*EXTREMES) | st.integers(-20, 20)


@given(
    indices(NAMES, data=True) | conditions(NAMES, data=True),
    st.lists(NUMBERS, min_size=5, max_size=5),
    st.lists(st.integers(-128, 127), min_size=4, max_size=4),
    ranges(NAMES, 3),
)
def test_index_arithmetic_on_data_keeps_its_value_even_if_it_overflows(
    expr: Expr, wide: list[int], narrow: list[int], where: dict[str, Interval]
) -> None:
    simple = simplify(expr, where)
    data = {f"wide[{place}]": wide[place] for place in range(4)}
    data.update({f"narrow[{place}]": number for place, number in enumerate(narrow)})
    for point in points(where):
        assert value(simple, point | data) == value(expr, point | data), text(simple)
    assert simplify(simple, where) == simple


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        # Sums.
        pytest.param(i + 1 + j - 1 + i, "i * 2 + j", id="sum"),
        pytest.param((i + 2) * 4 - i * 4, "8", id="cancelled"),
        pytest.param(i * 0 + j * 1 + 0, "j", id="neutral"),
        pytest.param(index(3) << 2, "12", id="constants"),
        pytest.param(i << 2, "i * 4", id="shift left"),
        pytest.param(i >> 1, "i // 2", id="shift right"),
        pytest.param(j * i * 2 + i * j, "i * j * 3", id="products in one order"),
        pytest.param(cast(const(3, INT8), INT64) + i - 1, "i + 2", id="constant of another type"),
        pytest.param(
            i + cast(const(2.0**40, FLOAT64), INT64) - 1,
            "i + int64(float64(1099511627776.0)) - 1",
            id="constant of another type, large",
        ),
        # Divisions.
        pytest.param((i * 7 + j) // 7, "i", id="quotient of a tile"),
        pytest.param((i * 7 + j) % 7, "j", id="remainder of a tile"),
        pytest.param((i * 8 + j) // 8 * 8 + (i * 8 + j) % 8, "i * 8 + j", id="both"),
        pytest.param((n * 8 + j) // 16, "n // 2", id="step within the divisor"),
        pytest.param((n * 8 + j) % 16, "n % 2 * 8 + j", id="remainder, by step"),
        pytest.param((n * 4 + 6) // 2, "n * 2 + 3", id="common divisor"),
        pytest.param((n + 9) // 4, "(n + 1) // 4 + 2", id="constant moved out"),
        pytest.param(n // 4 // 3, "n // 12", id="quotient of a quotient"),
        pytest.param((n // 4 + 1) // 3, "(n + 4) // 12", id="with a constant"),
        pytest.param(n % 12 % 4, "n % 4", id="remainder of a remainder"),
        pytest.param(n % 12 // 4, "n // 4 % 3", id="quotient of a remainder"),
        pytest.param((n % 12 + 3) // 4, "(n % 12 + 3) // 4", id="not of a remainder and more"),
        pytest.param((n % 12 + j * 4) % 4, "n % 4", id="needless remainder in a sum"),
        pytest.param(n // 4 * 4 + n % 4, "n", id="put together"),
        pytest.param(n // 4 % 3 * 4 + n % 4, "n % 12", id="remainders put together"),
        pytest.param(n + j - (n + j) // 4 * 4, "(j + n) % 4", id="remainder found"),
        pytest.param(n // -4, "-n // 4", id="negative divisor"),
        pytest.param(n // 0 + n % 0, "0", id="by zero"),
        pytest.param(j // 7 + j % 7, "j", id="below the divisor"),
        pytest.param((j - 7) // 7, "-1", id="one period below"),
        pytest.param((j - 7) % 7, "j", id="one period below, remainder"),
        # What splitting a fused loop gives.
        pytest.param(f // 56 * 56 + f % 56, "fo * 7 + fi", id="fused and split"),
        pytest.param(
            f // 30 * 30 + f // 6 % 5 * 6 + f % 6, "fo * 7 + fi", id="three fused and split"
        ),
        pytest.param(f // 7, "fo", id="split by what was fused"),
        pytest.param(f // 56, "fo // 8", id="split across it"),
        pytest.param(f % 56, "fo % 8 * 7 + fi", id="split across it, remainder"),
        # Others.
        pytest.param(minimum(i, 20), "i", id="minimum decided"),
        pytest.param(maximum(i * 4 + 1, i * 4), "i * 4 + 1", id="maximum by a constant"),
        pytest.param(minimum(minimum(n, 9), minimum(7, n)), "min(n, 7)", id="minima joined"),
        pytest.param(minimum(maximum(n, 0), i - 20), "i - 20", id="maximum in a minimum"),
        pytest.param(select(i < 10, n, i), "n", id="selected"),
        pytest.param(select(n < 10, i + 1, 1 + i), "i + 1", id="all the same"),
        pytest.param(select(n < 10, i + 1 - 1, 0) * 2, "select(n < 10, i, 0) * 2", id="within"),
        # Conditions.
        pytest.param(i < 10, "True", id="always"),
        pytest.param(i < 0, "False", id="never"),
        pytest.param(n * 4 + k < 60, "n < 15", id="tile that divides"),
        pytest.param(i * 7 + j < 60, "i * 7 + j < 60", id="tile that does not divide"),
        pytest.param(n * 3 < 10, "n < 4", id="rounded up"),
        pytest.param(f // 6 < 9, "fo * 7 + fi < 54", id="quotient compared"),
        pytest.param(7 < n // 4, "32 <= n", id="quotient from below"),
        pytest.param(n - 3 >= 0, "3 <= n", id="lower end"),
        pytest.param(n + 3 <= i + 3, "n <= i", id="same shift"),
        pytest.param(n + 3 < i, "n + 3 < i", id="shift left of it"),
        pytest.param(n < i + 3, "n < i + 3", id="shift right of it"),
        pytest.param(equal(n * 4, i * 4 + 1), "False", id="never equal"),
        pytest.param(equal(n * 4 + j, n * 4 + 7), "False", id="never equal within a period"),
        pytest.param(not_equal(i + 3, n * 2), "n * 2 != i + 3", id="not equal"),
        pytest.param(equal(3, n), "n == 3", id="number on the right"),
        pytest.param(~(n < i), "i <= n", id="not below"),
        pytest.param(~((n < 3) & p), "~((n < 3) & p)", id="no form without not"),
        pytest.param(~((n < 3) | (i < n)), "(3 <= n) & (n <= i)", id="neither"),
        pytest.param(~~p, "p", id="twice not"),
        pytest.param(p & (i < 10) & q & p, "p & q", id="and"),
        pytest.param(p & (i < 0), "False", id="and never"),
        pytest.param(p | (i < 0) | q, "p | q", id="or"),
        pytest.param(p | (i < 10), "True", id="or always"),
        # Elements of arrays.
        pytest.param(WIDE * 4 // 4, "wide[k] * 4 // 4", id="may overflow"),
        pytest.param(WIDE < WIDE + 1, "wide[k] < wide[k] + 1", id="may overflow, compared"),
        pytest.param(WIDE + i - WIDE, "wide[k] + i - wide[k]", id="may overflow in between"),
        pytest.param(maximum(minimum(WIDE, 9), 0) * 4 // 4, "max(min(wide[k], 9), 0)", id="clip"),
        pytest.param(Load(WIDE.buffer, (i - i + k,)) + 0, "wide[k]", id="index within"),
    ],
)
def test_index_arithmetic(expr: Expr, expected: str) -> None:
    simple = simplify(expr, WHERE)
    assert text(simple) == expected
    assert simplify(simple, WHERE) == simple


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        pytest.param(b + 0, b, id="add 0"),
        pytest.param(0 + b, b, id="0 add"),
        pytest.param(b * 1 - 0, b, id="neutral"),
        pytest.param(b * 0, const(0, INT8), id="times 0"),
        pytest.param(b // 1, b, id="by 1"),
        pytest.param(b % 1, const(0, INT8), id="remainder by 1"),
        pytest.param(b + 1 - 1, b + 1 - 1, id="not reordered"),
        pytest.param(const(127, INT8) + 1, const(-128, INT8), id="wraps"),
        pytest.param(const(-128, INT8) // -1, const(-128, INT8), id="quotient wraps"),
        pytest.param(-const(1, UINT8), const(255, UINT8), id="negative wraps"),
        pytest.param(const(3, INT8) < const(4, INT8), const(True, BOOL), id="compared"),
        pytest.param(cast(const(300, INT64), UINT8), const(44, UINT8), id="cast wraps"),
        pytest.param(cast(const(-3.7, FLOAT32), INT8), const(-3, INT8), id="cast of a float"),
        pytest.param(cast(const(float("nan"), FLOAT32), INT8), const(0, INT8), id="cast of NaN"),
        pytest.param(cast(const(0.1, FLOAT64), FLOAT32), const(0.1, FLOAT32), id="rounded"),
        pytest.param(
            cast(const((1 << 53) + 1, INT64), FLOAT64), const(float(1 << 53), FLOAT64), id="float"
        ),
        pytest.param(x + 0.0, x + 0.0, id="floats stay"),
        pytest.param(
            select(p, const(0.0, FLOAT32), -0.0), select(p, const(0.0, FLOAT32), -0.0), id="zeros"
        ),
        pytest.param(
            (x < 1.0 / const(0.0, FLOAT32)) & (x < 1.0 / const(-0.0, FLOAT32)),
            (x < 1.0 / const(0.0, FLOAT32)) & (x < 1.0 / const(-0.0, FLOAT32)),
            id="infinities of either sign",
        ),
        pytest.param(
            select(p, const(math.nan, FLOAT32), math.nan), const(math.nan, FLOAT32), id="NaN twice"
        ),
        pytest.param(x * 1.0, x * 1.0, id="floats stay, times"),
        pytest.param(x - x, x - x, id="floats stay, difference"),
        pytest.param(
            const(1.0, FLOAT32) + 2.0, const(1.0, FLOAT32) + 2.0, id="constants of floats stay"
        ),
        pytest.param(~(x < 1.0), ~(x < 1.0), id="not below may be NaN"),
        pytest.param(select(i < 10, x, 1.0), x, id="selected"),
        pytest.param(cast(i + 1 - 1, INT8) + b, cast(i, INT8) + b, id="index within"),
        pytest.param(cast(i < 10, FLOAT32), const(1.0, FLOAT32), id="condition within"),
    ],
)
def test_other_types(expr: Expr, expected: Expr) -> None:
    assert simplify(expr, WHERE) == expected


def test_ranges_may_be_unknown() -> None:
    assert text(simplify((n * 4 + 8) // 4)) == "n + 2"
    assert text(simplify(n % 4 < 4)) == "True"
    assert simplify(n, NO_RANGES) is n


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            func f(A: float32[64]) -> (C: float32[60]):
              for C.i_o in 8 + 1:
                for C.i_i in 7 vectorized:
                  block C(spatial i < 60 = (C.i_o * 7 + C.i_i) // 1):
                    where C.i_o * 7 + C.i_i < 60, C.i_i + 0 < 7, C.i_o * 7 + C.i_i < 70
                    C[i + 0] = A[(i // 60 + 1) * i + i // 60]
            """,
            """
            func f(A: float32[64]) -> (C: float32[60]):
              for C.i_o in 9:
                for C.i_i in 7 vectorized:
                  block C(spatial i < 60 = C.i_o * 7 + C.i_i):
                    where C.i_o * 7 + C.i_i < 60
                    C[i] = A[i]
            """,
            id="block",
        ),
        pytest.param(
            """
            func f() -> (C: float32[4, 4]):
              for C.i in 4:
                for C.k in 1:
                  block C(spatial i < 4 = C.i + C.k * 0, reduce k < 1 = C.k):
                    where (C.i < 4) & (C.i < 3)
                    init:
                      C[i, k + k * i] = 0.0
                    C[i, k] = C[i, k] + 1.0
            """,
            """
            func f() -> (C: float32[4, 4]):
              for C.i in 4:
                for C.k in 1:
                  block C(spatial i < 4 = C.i, reduce k < 1 = C.k):
                    where C.i < 3
                    init:
                      C[i, k] = 0.0
                    C[i, k] = C[i, k] + 1.0
            """,
            id="loops of one iteration stay",
        ),
        pytest.param(
            """
            func f() -> (C: float32[8]):
              for C.i in 4:
                for C.k in 3:
                  block C(spatial i < 4 = C.i, reduce k < 3 = C.k):
                    init:
                      C[i + min(k, i)] = 0.0
                    C[i + min(k, i)] = 1.0
            """,
            """
            func f() -> (C: float32[8]):
              for C.i in 4:
                for C.k in 3:
                  block C(spatial i < 4 = C.i, reduce k < 3 = C.k):
                    init:
                      C[i + k] = 0.0
                    C[i + min(i, k)] = 1.0
            """,
            id="init runs where what reduces is 0",
        ),
        pytest.param(
            """
            func f() -> (C: float32[60]):
              for o in 9:
                for i in min(60 - o * 7, 7):
                  if o * 7 + i < 60:
                    if i < 7:
                      if i < 5:
                        if i < 6:
                          C[o * 7 + i] = 0.0
                      if 60 <= o * 7 + i:
                        C[0] = 1.0
            """,
            """
            func f() -> (C: float32[60]):
              for o in 9:
                for i in min(60 - o * 7, 7):
                  if i < 5:
                    C[o * 7 + i] = 0.0
            """,
            id="conditions that follow",
        ),
        pytest.param(
            """
            func f() -> (C: float32[4]):
              for i in 4:
                if 4 <= i:
                  alloc t: float32[4]
                  for j in 4:
                    if i < j:
                      t[j] = 0.0
              for i2 in 4:
                C[i2] = 0.0
            """,
            """
            func f() -> (C: float32[4]):
              for i2 in 4:
                C[i2] = 0.0
            """,
            id="what never runs",
        ),
        pytest.param(
            """
            func f() -> (C: float32[0]):
              for i in 0:
                C[i + 0] = 0.0
            """,
            """
            func f() -> (C: float32[0]):
              for i in 0:
                C[i + 0] = 0.0
            """,
            id="loops of no iterations are left alone",
        ),
        pytest.param(
            """
            func f(A: float32[]) -> (C: float32[1]):
              block C():
                C[0 * 3] = A[]
            """,
            """
            func f(A: float32[]) -> (C: float32[1]):
              block C():
                C[0] = A[]
            """,
            id="a block without axes",
        ),
        pytest.param(
            """
            func f() -> (C: float32[4, 0]):
              for C.i in 4:
                for C.j in 0:
                  block C(spatial i < 4 = C.i, spatial j < 0 = C.j):
                    C[i + 0, j + 0] = 0.0
            """,
            """
            func f() -> (C: float32[4, 0]):
              for C.i in 4:
                for C.j in 0:
                  block C(spatial i < 4 = C.i, spatial j < 0 = C.j):
                    C[i + 0, j + 0] = 0.0
            """,
            id="a block with an axis of no elements is left alone",
        ),
    ],
)
def test_functions(before: str, after: str) -> None:
    simple = simplify_function(parse(dedent(before).lstrip()))
    assert text(simple) == text(parse(dedent(after).lstrip()))
    assert simplify_function(simple) == simple


def test_nothing_may_be_left() -> None:
    function = parse(
        "func f() -> (C: float32[0]):\n  for i in 4:\n    if i < 0:\n      C[i] = 0.0\n"
    )
    assert simplify_function(function).body == Seq(())


@given(st.data())
def test_functions_keep_their_results(data: st.DataObject) -> None:
    function = data.draw(functions())
    simple = simplify_function(function)
    given_arrays = data.draw(arrays(function))
    with np.errstate(all="ignore"):
        before, after = run(function, given_arrays), run(simple, given_arrays)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.tobytes() == other.tobytes()
    assert text(simplify_function(simple)) == text(simple)

"""`compiler.ir.interval`: every value lies between the bounds."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    INDEX,
    INT8,
    INT32,
    INT64,
    UINT8,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    Kind,
    Load,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.expr import binary, unary
from tandem.compiler.ir.interval import interval
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import cast, index, maximum, minimum, select
from tandem.compiler.ir.visit import variables
from tests.support.compiler.ir.index_values import conditions, indices, points, ranges, value

NAMES = ("i", "j", "k")
TYPES = (BOOL, DType(Kind.INT, 3), DType(Kind.UINT, 3), INT8, UINT8)
i, j = Var("i"), Var("j")


@given(indices(NAMES) | conditions(NAMES), ranges(NAMES, 5))
def test_every_value_of_index_arithmetic_lies_in_it(expr: Expr, where: dict[str, Interval]) -> None:
    found = interval(expr, where)
    for point in points(where):
        assert value(expr, point) in found


def _operations(dtype: DType) -> list[tuple[BinaryOp, DType]]:
    """Those that give a value of that type, each with the type of its operands."""
    found = []
    for op, other in product(BinaryOp, TYPES):
        try:
            if binary(op, Var("x", other), Var("y", other)).dtype == dtype:
                found.append((op, other))
        except IRError:
            continue
    return found


_OPERATIONS = {dtype: _operations(dtype) for dtype in TYPES}


@st.composite
def _typed(draw: st.DrawFn, dtype: DType, depth: int = 3) -> Expr:
    """Of the variables `x` and `y`, one of each type."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.booleans()):
            return Var(draw(st.sampled_from("xy")) + str(dtype), dtype)
        low, high = (0, 1) if dtype == BOOL else (dtype.low, dtype.high)
        number = draw(st.integers(low, high))
        return Const(bool(number) if dtype == BOOL else number, dtype)

    def under(other: DType = dtype) -> Expr:
        return draw(_typed(other, depth - 1))

    match draw(st.sampled_from("bbbbucs")):
        case "u":
            ops = [UnaryOp.NOT] if dtype == BOOL else [UnaryOp.NOT, UnaryOp.NEG, UnaryOp.ABS]
            return unary(draw(st.sampled_from(ops)), under())
        case "c":
            return cast(under(draw(st.sampled_from(TYPES))), dtype)
        case "s":
            return select(under(BOOL), under(), under())
        case _:
            op, other = draw(st.sampled_from(_OPERATIONS[dtype]))
            return binary(op, under(other), under(other))


@given(
    st.sampled_from(TYPES).flatmap(_typed),
    st.lists(st.tuples(st.booleans(), st.integers(0, 999), st.integers(0, 3)), min_size=10),
)
def test_every_value_of_types_that_wrap_lies_in_it(
    expr: Expr, chosen: list[tuple[bool, int, int]]
) -> None:
    """Each variable has either a range of a few values, or that of its type."""
    where, asked = {}, {}
    names = [(letter + str(dtype), dtype) for letter in "xy" for dtype in TYPES]
    for (name, dtype), (known, low, more) in zip(names, chosen, strict=False):
        least, most = (0, 1) if dtype == BOOL else (dtype.low, dtype.high)
        first = least + low % (most - least + 1)
        found = Interval(first, min(most, first + more))
        asked[name] = found
        if known:
            where[name] = found
    found = interval(expr, where)
    for point in points({name: asked[name] for name in sorted(variables(expr))}):
        assert value(expr, point) in found


WIDE = Load(Buffer("wide", (4,), INT64), (index(0),))
NARROW = Load(Buffer("narrow", (4,), INT8), (index(0),))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        pytest.param(i * 4 + j, (0, 39), id="tile"),
        pytest.param(i - j, (-3, 9), id="difference"),
        pytest.param((i * 4 + j + 3) // 4, (0, 10), id="ceiling"),
        pytest.param(i % 4, (0, 3), id="remainder of more"),
        pytest.param((i + 8) % 32, (8, 17), id="remainder within a period"),
        pytest.param(i // (j + 1), (0, 9), id="by a variable"),
        pytest.param(i % (j + 1), (0, 3), id="remainder by a variable"),
        pytest.param(i // (j - 1), (-9, 9), id="by either sign and zero"),
        pytest.param(Var("u"), (None, None), id="unknown"),
        pytest.param(minimum(Var("u"), 7) + 1, (None, 8), id="half known"),
        pytest.param(Var("u") % 8, (0, 7), id="remainder of the unknown"),
        pytest.param(WIDE, (None, None), id="element"),
        pytest.param(WIDE + 1, (None, None), id="overflow"),
        pytest.param(minimum(WIDE, 7), (None, 7), id="bounded element"),
        pytest.param(minimum(WIDE, 7) - 1, (None, None), id="overflow of a bounded element"),
        pytest.param(maximum(minimum(WIDE, 7), 0) - 1, (-1, 6), id="clipped element"),
        pytest.param(cast(NARROW, INDEX) * 2, (-256, 254), id="narrow element"),
        pytest.param(NARROW + NARROW, (-128, 127), id="wraps"),
        pytest.param(cast(i, INT8) * Const(12, INT8), (0, 108), id="does not wrap"),
        pytest.param(i < 10, (1, 1), id="always"),
        pytest.param(i < 0, (0, 0), id="never"),
        pytest.param(i < 5, (0, 1), id="sometimes"),
        pytest.param(select(i < 10, j, 100), (0, 3), id="select"),
        pytest.param(Cast(Var("f", FLOAT32), UINT8), (0, 255), id="from float"),
        pytest.param(Var("f", FLOAT32) < Var("g", FLOAT32), (0, 1), id="comparison of floats"),
        pytest.param(Cast(Var("f", FLOAT32), INDEX) + 1, (None, None), id="float as an index"),
    ],
)
def test_examples(expr: Expr, expected: tuple[int | None, int | None]) -> None:
    found = interval(expr, {"i": Interval(0, 9), "j": Interval(0, 3)})
    assert (found.low, found.high) == expected


def test_without_values_of_a_variable_there_are_none() -> None:
    nothing = {"i": Interval(0, -1)}
    for expr in (i, i + j, j * 0 + i, i // j, i < j, -i, cast(i, INT32), select(j < 1, i, i)):
        assert interval(expr, nothing).empty
    assert interval(select(j < 1, i, j), nothing) == Interval(None, None)


def test_floats_have_no_intervals() -> None:
    with pytest.raises(IRError, match="no intervals of float32"):
        interval(Var("f", FLOAT32), {})


def test_structure_is_not_looked_through() -> None:
    assert interval(i - i, {"i": Interval(0, 3)}) == Interval(-3, 3)

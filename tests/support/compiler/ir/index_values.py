"""Brute-force evaluation of integer expressions: the reference for analyses in `compiler.ir`.

Operations are implemented again here, so that the reference shares no code with the tested
analyses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import assert_never

from hypothesis import strategies as st

from tandem.compiler.ir import (
    INDEX,
    INT8,
    INT64,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.interval_ops import Interval

Values = Mapping[str, int]

DATA = (Buffer("wide", (4,), INT64), Buffer("narrow", (4,), INT8))
"""The buffers that the expressions below read. Element k is the variable `wide[k]` and so on."""


def _wrap(number: int, dtype: DType) -> int:
    number &= (1 << dtype.bits) - 1
    signed = dtype.low < 0 and number > dtype.high
    return number - (1 << dtype.bits) if signed else number


_INTEGERS: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.FLOORDIV: lambda a, b: a // b if b else 0,
    BinaryOp.MOD: lambda a, b: a - b * (a // b) if b else 0,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.AND: lambda a, b: a & b,
    BinaryOp.OR: lambda a, b: a | b,
    BinaryOp.XOR: lambda a, b: a ^ b,
    BinaryOp.LT: lambda a, b: a < b,
    BinaryOp.LE: lambda a, b: a <= b,
    BinaryOp.EQ: lambda a, b: a == b,
    BinaryOp.NE: lambda a, b: a != b,
}


def value(expr: Expr, values: Values) -> int:
    """The value of an expression of integers and bools; a bool is 0 or 1."""
    match expr:
        case Const(value=number):
            return int(number)
        case Var(name=name):
            return values[name]
        case Load(buffer=buffer, indices=indices):
            return values[f"{buffer.name}[{value(indices[0], values) % buffer.shape[0]}]"]
        case Cast(operand=operand, dtype=dtype):
            number = value(operand, values)
            return _wrap(number, dtype) if dtype.is_integer else int(number != 0)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return value(then if value(condition, values) else otherwise, values)
        case Unary(op=op, operand=operand, dtype=dtype):
            number = value(operand, values)
            if not dtype.is_integer:
                return 1 - number
            results = {UnaryOp.NEG: -number, UnaryOp.NOT: ~number, UnaryOp.ABS: abs(number)}
            return _wrap(results[op], dtype)
        case Binary(op=op, left=left, right=right):
            a, b, dtype = value(left, values), value(right, values), left.dtype
            if op in (BinaryOp.SHL, BinaryOp.SHR):
                amount = min(b & ((1 << dtype.bits) - 1), dtype.bits)
                return _wrap(a << amount if op is BinaryOp.SHL else a >> amount, dtype)
            result = _INTEGERS[op](a, b)
            return _wrap(result, dtype) if dtype.is_integer and not op.compares else int(result)
        case Reinterpret():
            raise AssertionError("no index or condition is made of another type's bits")
        case _:
            assert_never(expr)


def points(ranges: Mapping[str, Interval]) -> Iterator[dict[str, int]]:
    """All assignments of values to bounded variables."""
    spaces = []
    for found in ranges.values():
        assert found.bounds is not None
        spaces.append(range(found.bounds[0], found.bounds[1] + 1))
    for chosen in product(*spaces):
        yield dict(zip(ranges, chosen, strict=True))


@st.composite
def ranges(draw: st.DrawFn, names: Sequence[str], largest: int = 7) -> dict[str, Interval]:
    """Ranges of variables: mostly from 0, as of loops; a few begin elsewhere."""
    found = {}
    for name in names:
        low = draw(st.sampled_from([0, 0, 0, 0, -3, 2]))
        found[name] = Interval(low, low + draw(st.integers(0, largest - 1)))
    return found


_NUMBERS = st.sampled_from([1, 2, 3, 4, 6, 7, 8, 12, 16, -1, -2, -3, 0, 5])
_DIVISORS = st.sampled_from([1, 2, 3, 4, 4, 6, 7, 8, 12, 12, -1, -3, 0])


@st.composite
def indices(
    draw: st.DrawFn, names: Sequence[str], depth: int = 4, data: bool = False, odd: bool = True
) -> Expr:
    """Index arithmetic.

    Parameters
    ----------
    data
        Whether to use elements of `DATA`.
    odd
        Whether to use products of variables, selections and bitwise operations.
    """

    def under(depth: int = depth - 1) -> Expr:
        return draw(indices(names, depth, data, odd))

    def number() -> Expr:
        return Const(draw(_NUMBERS))

    if depth <= 0 or draw(st.integers(0, 9)) == 0:
        choice = draw(st.integers(0, 9))
        if data and choice < 3:
            buffer = draw(st.sampled_from(DATA))
            load = Load(buffer, (Const(draw(st.integers(0, 1))),))
            return load if buffer.dtype == INDEX else Cast(load, INDEX)
        return Var(draw(st.sampled_from(names))) if choice < 8 else number()
    match draw(st.integers(0, 13 if odd else 9)):
        case 0 | 1 | 2:
            return Binary(BinaryOp.ADD, under(), under())
        case 3:
            return Binary(BinaryOp.SUB, under(), under())
        case 4:
            return Binary(BinaryOp.MUL, under(), number())
        case 5:
            # Expressions of fused and split axes.
            return under() * draw(st.integers(2, 8)) + under(0)
        case 6 | 7:
            return Binary(BinaryOp.FLOORDIV, under(), Const(draw(_DIVISORS)))
        case 8 | 9:
            return Binary(BinaryOp.MOD, under(), Const(draw(_DIVISORS)))
        case 10:
            return Binary(draw(st.sampled_from([BinaryOp.MIN, BinaryOp.MAX])), under(), under())
        case 11:
            return Unary(draw(st.sampled_from([UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS])), under())
        case 12:
            return Select(draw(conditions(names, depth - 2, data)), under(), under())
        case _:
            anything = [BinaryOp.MUL, BinaryOp.FLOORDIV, BinaryOp.MOD]
            bits = [BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR, BinaryOp.SHR]
            op = draw(st.sampled_from([*anything, *bits]))
            return Binary(op, under(depth - 2), under(depth - 2))


@st.composite
def conditions(draw: st.DrawFn, names: Sequence[str], depth: int = 3, data: bool = False) -> Expr:
    """Boolean combinations of comparisons of indices."""
    choice = draw(st.integers(0, 6)) if depth > 0 else 0
    match choice:
        case 4:
            return draw(conditions(names, depth - 1, data)) & draw(
                conditions(names, depth - 1, data)
            )
        case 5:
            return draw(conditions(names, depth - 1, data)) | draw(
                conditions(names, depth - 1, data)
            )
        case 6:
            return ~draw(conditions(names, depth - 1, data))
        case _:
            op = draw(st.sampled_from([each for each in BinaryOp if each.compares]))
            left = draw(indices(names, depth - 1, data))
            if draw(st.booleans()):
                return Binary(op, left, Const(draw(st.integers(-9, 60))))
            return Binary(op, left, draw(indices(names, depth - 1, data)))

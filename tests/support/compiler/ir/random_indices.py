"""Random index arithmetic and conditions, determined by a generator of random numbers."""

from __future__ import annotations

from random import Random

from tandem.compiler.ir import (
    INDEX,
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.interval_ops import Interval
from tests.support.compiler.ir.index_values import DATA

_NUMBERS = (1, 2, 3, 4, 6, 7, 8, 12, 16, 62, 63, 64, -1, -2, -3, 0, 5)
_DIVISORS = (1, 2, 3, 4, 4, 6, 7, 8, 12, 12, -1, -3, 0)
_COMPARISONS = tuple(op for op in BinaryOp if op.compares)


def random_index(rng: Random, names: str, depth: int, *, odd: bool = True) -> Expr:
    """An index of variables with one letter; `odd` adds data, selections and bits."""
    if depth <= 0 or rng.random() < 0.1:
        if odd and rng.random() < 0.15:
            load = Load(rng.choice(DATA), (Const(rng.randint(0, 1)),))
            return load if load.buffer.dtype == INDEX else Cast(load, INDEX)
        return Var(rng.choice(names)) if rng.random() < 0.8 else Const(rng.choice(_NUMBERS))

    def under(less: int = 1) -> Expr:
        return random_index(rng, names, depth - less, odd=odd)

    match rng.randint(0, 13 if odd else 9):
        case 0 | 1 | 2:
            return Binary(BinaryOp.ADD, under(), under())
        case 3:
            return Binary(BinaryOp.SUB, under(), under())
        case 4:
            op = rng.choice((BinaryOp.MUL, BinaryOp.MUL, BinaryOp.SHL, BinaryOp.SHR))
            return Binary(op, under(), Const(rng.choice(_NUMBERS)))
        case 5:
            # Of fused and split axes.
            return under() * rng.randint(2, 8) + under(depth)
        case 6 | 7:
            return Binary(BinaryOp.FLOORDIV, under(), Const(rng.choice(_DIVISORS)))
        case 8 | 9:
            return Binary(BinaryOp.MOD, under(), Const(rng.choice(_DIVISORS)))
        case 10:
            return Binary(rng.choice((BinaryOp.MIN, BinaryOp.MAX)), under(), under())
        case 11:
            return Unary(rng.choice((UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS)), under())
        case 12:
            return Select(random_condition(rng, names, depth - 2), under(), under())
        case _:
            bits = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR, BinaryOp.SHR, BinaryOp.SHL)
            ops = (*bits, BinaryOp.MUL, BinaryOp.FLOORDIV, BinaryOp.MOD)
            return Binary(rng.choice(ops), under(2), under(2))


def random_condition(rng: Random, names: str, depth: int, *, odd: bool = True) -> Expr:
    """A boolean combination of comparisons of indices."""

    def under() -> Expr:
        return random_condition(rng, names, depth - 1, odd=odd)

    match rng.randint(0, 6) if depth > 0 else 0:
        case 4:
            return under() & under()
        case 5:
            return under() | under()
        case 6:
            return ~under()
        case _:
            left = random_index(rng, names, depth - 1, odd=odd)
            right: Expr = Const(rng.randint(-9, 60))
            if rng.random() < 0.5:
                right = random_index(rng, names, depth - 1, odd=odd)
            return Binary(rng.choice(_COMPARISONS), left, right)


def random_ranges(rng: Random, names: str) -> dict[str, Interval]:
    """Ranges of variables, mostly from 0, as of loops; of one in ten nothing is known."""
    found = {}
    for name in names:
        low = rng.choice((0, 0, 0, 0, -3, 2))
        if rng.random() < 0.9:
            found[name] = Interval(low, low + rng.choice((0, 1, 3, 6, 7, 15)))
    return found

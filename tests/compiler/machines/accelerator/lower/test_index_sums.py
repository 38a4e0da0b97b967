from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INDEX, INT32
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.ops import cast, index
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Store
from tandem.compiler.machines.accelerator.lower.index_sums import IndexSum, function_of

EXTENTS = {"i": 3, "j": 4, "k": 2}
X, Y, Z = (Var(name) for name in EXTENTS)
A = Buffer("A", (4,), INT32)

SUMS = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
OTHERS = (BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.MIN, BinaryOp.MAX)
COMPARISONS = (BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.builds(Binary, st.sampled_from(SUMS + OTHERS), inner, inner)
    test = st.builds(Binary, st.sampled_from(COMPARISONS), inner, inner)
    both = st.builds(Binary, st.sampled_from((BinaryOp.AND, BinaryOp.OR)), test, test)
    negated = st.builds(Unary, st.just(UnaryOp.NOT), test)
    choice = st.builds(Select, st.one_of(test, both, negated), inner, inner)
    return st.one_of(binary, binary, st.builds(Unary, st.just(UnaryOp.NEG), inner), choice)


EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from((X, Y, Z)), st.integers(-4, 4).map(Const)), _larger, max_leaves=8
)


@settings(max_examples=60)
@given(EXPRESSIONS, st.sets(st.sampled_from(tuple(EXTENTS))))
def test_values_are_the_interpreters(expr: Expr, asked: set[str]) -> None:
    """Also of a sum in which variables are open: the known part and the open terms add up."""
    out = Buffer("C", tuple(EXTENTS.values()), INDEX)
    body: For | Store = Store(out, (X, Y, Z), expr)
    for var in (Z, Y, X):
        body = For(var, index(EXTENTS[var.name]), LoopKind.SERIAL, body)
    (wanted,) = interpreter.run(PrimFunc("f", (), (out,), body), [])
    total = IndexSum.of(expr)
    open_names = asked - total.nonlinear_in(frozenset(EXTENTS))
    value = function_of(expr)
    for point in np.ndindex(*wanted.shape):
        env = dict(zip(EXTENTS, point, strict=True))
        assert value(env) == wanted[point]
        known, left = total.at({name: env[name] for name in env if name not in open_names})
        assert set(left) <= open_names
        assert known + sum(factor * env[name] for name, factor in left.items()) == wanted[point]


def test_a_sum_leaves_variables_open() -> None:
    total = IndexSum.of(X * 8 + Y * 2 + Z // 2 * 4 + 5)
    assert total.nonlinear_in(frozenset(("i", "j", "k"))) == {"k"}
    assert total.nonlinear_in(frozenset(("i", "j"))) == frozenset()
    assert total.at({"k": 3, "i": 2}) == (5 + 16 + 4, {"j": 2})


def test_a_division_by_zero_is_0_as_everywhere() -> None:
    assert function_of(X // (Y - Y))({"i": 7, "j": 1}) == 0
    assert function_of(X % (Y - Y))({"i": 7, "j": 1}) == 0


@pytest.mark.parametrize(
    ("expr", "shown"),
    [
        (cast(Load(A, (X,)), INDEX), r"int64\(A\[i\]\)"),
        (X + Cast(Load(A, (Y,)), INDEX), r"int64\(A\[j\]\)"),
        (Binary(BinaryOp.SHL, X, Y), r"i << j"),
    ],
)
def test_data_is_refused(expr: Expr, shown: str) -> None:
    with pytest.raises(LoweringError, match=f"an index or condition cannot be {shown}"):
        function_of(expr)

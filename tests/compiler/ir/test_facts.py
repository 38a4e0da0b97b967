"""Facts are what a walk finds, and what was verified once is refused wherever it is illegal."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.expr import Const, Expr, Load, Var
from tandem.compiler.ir.facts import expr_facts, facts
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.ir.syntax import MAX_DEPTH
from tandem.compiler.ir.verify import verify
from tandem.compiler.ir.visit import children, expressions, operands, statements, subexpressions
from tests.support.compiler.ir.ir_strategies import functions

A = Buffer("A", (8,), FLOAT32)
B = Buffer("B", (8,), FLOAT32)
ZERO = Const(0.0, FLOAT32)


def expr_height(expr: Expr) -> int:
    return 1 + max(map(expr_height, operands(expr)), default=0)


def height(stmt: Stmt) -> int:
    below = [*map(height, children(stmt)), *map(expr_height, expressions(stmt))]
    return 1 + max(below, default=0)


@given(functions())
def test_facts_are_what_a_walk_finds(function: PrimFunc) -> None:
    for stmt in statements(function.body):
        below = list(statements(stmt))
        exprs = [one for each in below for top in expressions(each) for one in subexpressions(top)]
        found = facts(stmt)
        loops = [each for each in below if isinstance(each, For)]
        blocks = [each for each in below if isinstance(each, Block)]
        allocs = [each.buffer for each in below if isinstance(each, Alloc)]
        axes = {axis.var.name for each in blocks for axis in each.iters}
        used = {each.name for each in exprs if isinstance(each, Var)}
        loads = {each.buffer.name for each in exprs if isinstance(each, Load)}
        stores = {each.buffer.name for each in below if isinstance(each, Store)}
        assert found.height == height(stmt)
        assert found.loops == {each.var.name for each in loops}
        assert list(found.blocks) == [each for each in blocks if each is not stmt]
        assert found.axes == axes
        assert dict(found.allocated) == {each.name: each for each in allocs}
        assert used - found.loops - axes <= found.variables <= used
        assert found.parallel == any(each.kind is LoopKind.PARALLEL for each in loops)
        assert found.conditional == any(isinstance(each, If) for each in below)
        assert loads <= found.reads
        assert stores <= found.writes
        if not any(isinstance(each, Invoke) for each in below):
            assert loads == found.reads
            assert stores == found.writes
            assert found.buffers.keys() == (loads | stores) - found.allocated.keys()


@given(functions())
def test_facts_of_expressions_are_what_a_walk_finds(function: PrimFunc) -> None:
    for stmt in statements(function.body):
        for expr in expressions(stmt):
            parts = list(subexpressions(expr))
            found = expr_facts(expr)
            assert found.height == expr_height(expr)
            assert found.variables == {each.name for each in parts if isinstance(each, Var)}
            loads = {each.buffer.name: each.buffer for each in parts if isinstance(each, Load)}
            assert dict(found.loads) == loads


@given(functions())
def test_facts_are_no_part_of_the_value(function: PrimFunc) -> None:
    fresh = pickle.loads(pickle.dumps(function))
    verify(function)
    assert fresh == function
    assert hash(fresh) == hash(function)
    assert repr(fresh) == repr(function)
    assert not hasattr(fresh.body, "facts")
    assert not hasattr(pickle.loads(pickle.dumps(function.body)), "facts")


def accepted() -> For:
    """`A[i] = 0.0` in a loop, verified once."""
    loop = For(Var("i"), index(8), LoopKind.SERIAL, Store(A, (Var("i"),), ZERO))
    verify(PrimFunc("f", (), (A,), loop))
    assert facts(loop).verified
    return loop


def parallel() -> Stmt:
    loop = replace(accepted(), kind=LoopKind.PARALLEL)
    verify(PrimFunc("f", (), (A,), loop))
    return loop


def reading() -> Stmt:
    """`B[0] = A[k]` in a loop over `k`, of which the part inside is verified."""
    store = Store(B, (index(0),), Load(A, (Var("k"),)))
    verify(PrimFunc("f", (A,), (B,), For(Var("k"), index(8), LoopKind.SERIAL, store)))
    assert facts(store).verified
    return store


def deep(body: Stmt) -> Stmt:
    for number in range(MAX_DEPTH - 2):
        body = For(Var(f"d{number}"), index(1), LoopKind.SERIAL, body)
    return body


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (PrimFunc("g", (), (B,), accepted()), "there is no buffer A here"),
        (PrimFunc("g", (), (replace(A, shape=(9,)),), accepted()), "and declared as"),
        (PrimFunc("g", (A,), (B,), accepted()), "A is an input: nothing is stored"),
        (PrimFunc("g", (), (A,), Seq((accepted(), accepted()))), "i names a loop, and already"),
        (PrimFunc("g", (), (A,), deep(accepted())), f"nested more than {MAX_DEPTH} deep"),
        (PrimFunc("g", (A,), (B,), reading()), "variable k is not in scope"),
        (
            PrimFunc("g", (), (A,), For(Var("v"), index(2), LoopKind.VECTORIZED, parallel())),
            "a parallel loop inside the vectorized loop v",
        ),
        (
            PrimFunc("g", (), (A,), Alloc(Buffer("i", (1,), FLOAT32), accepted())),
            "i names a loop, and already an allocation",
        ),
    ],
)
def test_what_was_legal_elsewhere_is_refused_where_it_is_not(
    function: PrimFunc, message: str
) -> None:
    with pytest.raises(IRError, match=message):
        verify(function)


@given(functions())
def test_verified_programs_are_accepted_again_and_alike(function: PrimFunc) -> None:
    verify(function)
    verify(function)
    copy = pickle.loads(pickle.dumps(function))
    twice = replace(function, body=Seq((function.body, function.body)))
    again = replace(copy, body=Seq((copy.body, pickle.loads(pickle.dumps(copy.body)))))
    messages = []
    for program in (twice, again):
        try:
            verify(program)
        except IRError as error:
            messages.append(str(error))
        else:
            messages.append("")
    assert messages[0] == messages[1]

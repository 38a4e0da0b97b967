"""Walks over programs and expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import (
    FLOAT32,
    INDEX,
    Alloc,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Invoke,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    Var,
)
from tandem.compiler.ir.ops import index, select
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.visit import (
    blocks,
    buffers_in,
    children,
    expressions,
    loops,
    map_children,
    map_expressions,
    map_operands,
    operands,
    reads,
    rewrite,
    rewrite_expr,
    sequence,
    statements,
    subexpressions,
    substitute,
    substitute_in,
    variables,
    writes,
)
from tests.support.compiler.ir.ir_strategies import INTRINSICS, functions, index_expressions
from tests.support.compiler.ir.ir_strategies import expressions as any_expressions

PROGRAM = parse(
    """
func f(A: float32[8, 4], V: float32[4]) -> (C: float32[8]):
  alloc T: float32[1, 4] @ local
  for C.i in 8 parallel:
    invoke copy4(V[0 :+ 4], T[0 :+ 1, 0 :+ 4])
    for C.k in 4:
      if C.k < 3:
        block C(spatial i < 8 = C.i, reduce k < 4 = C.k):
          where C.i < 7
          init:
            C[i] = 0.0
          C[i] = C[i] + A[i, k] * T[0, k]
  C[7] = 0.0
""",
    INTRINSICS,
)
X, Y = Var("x"), Var("y")
_Node = TypeVar("_Node")


def test_statements_come_in_the_order_of_the_text() -> None:
    kinds = [type(each) for each in statements(PROGRAM.body)]
    assert kinds == [Alloc, Seq, For, Seq, Invoke, For, If, Block, Store, Store, Store]
    assert [each.var.name for each in loops(PROGRAM.body)] == ["C.i", "C.k"]
    assert [each.name for each in blocks(PROGRAM.body)] == ["C"]
    assert [text(each).strip() for each in writes(PROGRAM.body)] == [
        "C[i] = 0.0",
        "C[i] = C[i] + A[i, k] * T[0, k]",
        "C[7] = 0.0",
    ]
    assert [text(each) for each in reads(PROGRAM.body)] == ["C[i]", "A[i, k]", "T[0, k]"]
    assert [each.name for each in buffers_in(PROGRAM)] == ["A", "V", "C", "T"]


def test_a_buffer_that_is_both_comes_once() -> None:
    both = Buffer("C", (1,), FLOAT32)
    assert buffers_in(PrimFunc("f", (both,), (both,), Seq(()))) == (both,)


def test_expressions_of_a_statement() -> None:
    found = {
        type(stmt).__name__: [text(each) for each in expressions(stmt)]
        for stmt in statements(PROGRAM.body)
    }
    assert found == {
        "Alloc": [],
        "Seq": [],
        "For": ["4"],
        "Invoke": ["0", "0", "0"],
        "If": ["C.k < 3"],
        "Block": ["C.i", "C.k", "C.i < 7"],
        "Store": ["7", "float32(0.0)"],
    }


def test_variables() -> None:
    expr = Load(Buffer("A", (4,), INDEX), (X + 1,)) * Y - X
    assert variables(expr) == {"x", "y"}
    assert variables(Const(1)) == frozenset()


def test_substitution_is_simultaneous() -> None:
    assert substitute(X + Y * 2, {"x": Y, "y": X}) == Y + X * 2
    load = Load(Buffer("A", (4,), INDEX), (X,))
    assert substitute(load, {"x": X + 1}) == Load(load.buffer, (X + 1,))


def test_substitution_keeps_the_order_of_operands() -> None:
    a, b, c = Var("a"), Var("b"), Var("c")
    values: dict[str, Expr] = {"x": a, "y": b, "z": c}
    z = Var("z")
    assert substitute(select(X < Y, Y - X, z), values) == select(a < b, b - a, c)
    load = Load(Buffer("A", (4, 4, 4), INDEX), (X, Y, z))
    assert substitute(load, values) == Load(load.buffer, (a, b, c))


def test_substitution_in_statements_reaches_everything() -> None:
    changed = substitute_in(PROGRAM.body, {"C.i": Var("p"), "C.k": Var("q"), "k": Var("r")})
    expected = text(PROGRAM.body).replace("= C.i", "= p").replace("= C.k", "= q")
    expected = expected.replace("if C.k", "if q").replace("where C.i", "where p")
    expected = expected.replace("[i, k]", "[i, r]").replace("[0, k]", "[0, r]")
    assert text(changed) == expected


@given(functions(accelerator=True))
def test_walks_that_change_nothing_share_everything(function: PrimFunc) -> None:
    body = function.body
    assert rewrite(body, lambda node: node) is body
    for stmt in statements(body):
        assert map_children(stmt, lambda node: node) is stmt
        assert map_expressions(stmt, lambda node: node) == stmt
        for expr in expressions(stmt):
            assert rewrite_expr(expr, lambda node: node) is expr
    assert substitute_in(body, {"nobody": X}) == body


@given(functions(accelerator=True))
def test_children_and_mapped_children_agree(function: PrimFunc) -> None:
    for stmt in statements(function.body):
        below: list[Stmt] = []
        map_children(stmt, _recorded(below))
        assert tuple(below) == children(stmt)
        exprs: list[Expr] = []
        map_expressions(stmt, _recorded(exprs))
        assert tuple(exprs) == expressions(stmt)
        for expr in (sub for each in exprs for sub in subexpressions(each)):
            parts: list[Expr] = []
            map_operands(expr, _recorded(parts))
            assert tuple(parts) == operands(expr)


def _recorded(seen: list[_Node]) -> Callable[[_Node], _Node]:
    def keep(node: _Node) -> _Node:
        seen.append(node)
        return node

    return keep


@given(any_expressions(INDEX, {"x": 3, "y": 4}), index_expressions(["z"]))
def test_substitution_leaves_no_occurrence(expr: Expr, value: Expr) -> None:
    result = substitute(expr, {"x": value})
    assert "x" not in variables(result)
    gained = variables(value) if "x" in variables(expr) else frozenset()
    assert variables(result) == variables(expr) - {"x"} | gained


@given(st.data())
def test_rewriting_reaches_every_statement_once(data: st.DataObject) -> None:
    function = data.draw(functions())
    seen: list[Stmt] = []

    def change(stmt: Stmt) -> Stmt:
        seen.append(stmt)
        if isinstance(stmt, For):
            return replace(stmt, var=Var(stmt.var.name + "_new"))
        return stmt

    changed = rewrite(function.body, change)
    assert len(seen) == len(list(statements(function.body)))
    names = [each.var.name + "_new" for each in loops(function.body)]
    assert [each.var.name for each in loops(changed)] == names


def test_sequences() -> None:
    buffer, scratch = Buffer("C", (), FLOAT32), Buffer("T", (), FLOAT32)
    a, b, c = (Store(buffer, (), Const(float(number), FLOAT32)) for number in range(3))
    assert sequence() == Seq(())
    assert sequence(a) is a
    assert sequence(a, Seq((b, c))) == Seq((a, b, c))
    assert sequence(Seq(()), a, Seq(())) == a
    assert sequence(a, Alloc(scratch, b), c) == Seq((a, Alloc(scratch, Seq((b, c)))))
    assert sequence(Alloc(scratch, b), c) == Alloc(scratch, Seq((b, c)))


def test_deleting_a_statement_leaves_the_others() -> None:
    def change(stmt: Stmt) -> Stmt:
        return Seq(()) if isinstance(stmt, Invoke) else stmt

    changed = rewrite(PROGRAM.body, change)
    lines = [line for line in text(PROGRAM.body).splitlines() if "invoke" not in line]
    assert text(changed).splitlines() == lines


def test_an_index_is_a_constant() -> None:
    assert index(3) == Const(3, INDEX)

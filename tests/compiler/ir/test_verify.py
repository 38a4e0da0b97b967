"""What is legal, and what is said of what is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT32,
    UINT8,
    Alloc,
    Binary,
    BinaryOp,
    Block,
    BlockIter,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Invoke,
    IterKind,
    Load,
    LoopKind,
    PrimFunc,
    Region,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.ops import index, select
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.syntax import MAX_DEPTH
from tandem.compiler.ir.verify import verify
from tandem.compiler.ir.visit import expressions, loops, rewrite, statements, variables
from tests.support.compiler.ir.ir_strategies import INTRINSICS, functions

A, C = Buffer("A", (4, 4), FLOAT32), Buffer("C", (4,), FLOAT32)
T = Buffer("T", (2,), INT8, Scope.LOCAL)
CI, K = Var("C.i"), Var("C.k")
ZERO, FOUR, ONE = index(0), index(4), Const(1.0, FLOAT32)

NESTED = BlockIter(Var("j"), 4, IterKind.SPATIAL, Var("i") + K)


def program(body: Stmt) -> PrimFunc:
    """A program f(A) -> (C)."""
    return PrimFunc("f", (A,), (C,), body)


def loop(body: Stmt, var: Var = CI, extent: Expr = FOUR, kind: str = "serial") -> For:
    """A loop, by default over C.i."""
    return For(var, extent, LoopKind(kind), body)


def block(body: Stmt, **changes: object) -> Block:
    """A block with an axis i."""
    axis = BlockIter(Var("i"), 4, IterKind.SPATIAL, CI)
    return replace(Block("b", (axis,), (), None, body), **changes)  # type: ignore[arg-type]


def store(value: Expr = ONE, *indices: Expr) -> Store:
    """To C, at C.i if nothing else is said."""
    return Store(C, indices or (CI,), value)


GOOD = store(ONE, ZERO)


@given(functions(accelerator=True))
def test_random_programs_are_legal(function: PrimFunc) -> None:
    verify(function)


@given(functions(accelerator=True), st.data())
def test_a_loop_is_needed_where_its_variable_is(function: PrimFunc, data: st.DataObject) -> None:
    assume(any(loops(function.body)))
    chosen = data.draw(st.sampled_from(list(loops(function.body))))

    def rename(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.var == chosen.var:
            return replace(stmt, var=Var("another"))
        return stmt

    broken = replace(function, body=rewrite(function.body, rename))
    inside = [each for stmt in statements(chosen.body) for each in expressions(stmt)]
    if any(chosen.var.name in variables(each) for each in inside):
        with pytest.raises(IRError, match=f"variable {chosen.var.name} is not in scope"):
            verify(broken)
    else:
        verify(broken)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        # Scopes.
        (store(), "f: variable C.i is not in scope; there are none$"),
        (Seq((loop(GOOD), store())), "variable C.i is not in scope"),
        (
            loop(block(store())),
            "^function f > loop C.i > block b: variable C.i is not in scope; there are i$",
        ),
        (
            loop(block(store(ONE, Var("i")), guard=(Var("i") < 3,))),
            "variable i is not in scope; there are C.i",
        ),
        (loop(block(GOOD, init=store())), "block b: variable C.i is not in scope; there are i"),
        (loop(GOOD, extent=CI), "^function f > loop C.i: variable C.i is not in scope"),
        (Store(T, (ZERO,), Const(1, INT8)), "there is no buffer T here; there are A, C$"),
        (
            Seq((Alloc(T, GOOD), Store(T, (ZERO,), Const(1, INT8)))),
            "there is no buffer T here; there are A, C$",
        ),
        (
            store(Load(replace(A, dtype=INT8), (ZERO, ZERO)), ZERO),
            "A is used as A: int8\\[4, 4\\], and declared as A: float",
        ),
        (store(Cast(Load(T, (ZERO,)), FLOAT32), ZERO), "there is no buffer T here"),
        # Names.
        (loop(loop(GOOD)), "C.i names a loop, and already a loop$"),
        (Seq((loop(GOOD), loop(GOOD))), "C.i names a loop, and already a loop$"),
        (loop(GOOD, Var("A")), "A names a loop, and already an input$"),
        (loop(GOOD, Var("2i")), "'2i' cannot be the name of a loop: letters, digits, _ and . are"),
        (loop(GOOD, Var("inf")), "inf cannot be the name of a loop: it is a number"),
        (Alloc(replace(T, name="C"), GOOD), "C names an allocation, and already an output$"),
        (Seq((Alloc(T, GOOD), Alloc(T, GOOD))), "T names an allocation, and already an allocation"),
        (Alloc(replace(T, name="a b"), GOOD), "'a b' cannot be the name of an allocation"),
        (loop(block(GOOD, name="")), "'' cannot be the name of a block"),
        (
            loop(block(GOOD, iters=(BlockIter(CI, 4, IterKind.SPATIAL, CI),))),
            "C.i names an axis, and already a loop",
        ),
        (
            Seq((loop(block(GOOD)), loop(GOOD, Var("i")))),
            "loop i: i names a loop, and already an axis of a block",
        ),
        (
            loop(block(GOOD, iters=(BlockIter(Var("i"), 4, IterKind.SPATIAL, CI),) * 2)),
            "two axes of one name: i, i",
        ),
        # Types.
        (store(ONE, Const(0.0, FLOAT32)), "an index of C is int64, not float32: float32"),
        (store(Const(1, INT8), ZERO), "what is stored to C is float32, not int8: int8\\(1\\)"),
        (If(ZERO, GOOD), "a condition is bool, not int64: 0"),
        (loop(block(GOOD, guard=(CI,))), "a condition is bool, not int64: C.i"),
        (loop(GOOD, extent=Const(4, INT32)), "the extent is int64, not int32: int32\\(4\\)"),
        (loop(GOOD, Var("C.i", INT8)), "C.i is int8: variables are int64"),
        (loop(store(ONE, Var("C.i", INT8))), "variable C.i is int64, not int8"),
        (
            loop(block(GOOD, iters=(BlockIter(Var("i"), 4, IterKind.REDUCE, ONE),))),
            "axis i is int64, not float32: float32\\(1.0\\)",
        ),
        (
            store(Binary(BinaryOp.ADD, ONE, ZERO), ZERO),
            r"in float32\(1.0\) \+ 0: float32 is expected here, not int64",
        ),
        (
            store(Binary(BinaryOp.MOD, ONE, ONE), ZERO),
            r"in float32\(1.0\) % float32\(1.0\): % is not defined for float32",
        ),
        (store(Unary(UnaryOp.NOT, ONE), ZERO), "~ is not defined for float32"),
        (store(Select(ZERO, ONE, ONE), ZERO), "the condition of a select is bool, not int64: 0"),
        (
            store(Select(Const(True, BOOL), ONE, ZERO), ZERO),
            "the other value of a select is float32, not int64: 0",
        ),
        # Constants.
        (store(Cast(Const(128, INT8), FLOAT32), ZERO), "128 is no int8: -128..127"),
        (store(Cast(Const(-1, UINT8), FLOAT32), ZERO), "-1 is no uint8: 0..255"),
        (store(Const(0.1, FLOAT32), ZERO), "0.1 is no float32: 0.10000000149011612 is"),
        (store(Const(1e39, FLOAT32), ZERO), "1e\\+39 is no float32: its magnitude is too large"),
        (store(Const(1, FLOAT32), ZERO), "a constant of float32 holds int 1"),
        (If(Const(1, BOOL), GOOD), "a constant of bool holds int 1"),
        (store(ONE, Const(True)), "a constant of int64 holds bool True"),
        (store(ONE, Const(np.int64(1))), "a constant of int64 holds int64 "),  # type: ignore[arg-type]
        # Shapes.
        (store(ONE, ZERO, ZERO), r"C has 1 dimensions \(4,\), not 2"),
        (store(Load(A, (ZERO,)), ZERO), r"A has 2 dimensions \(4, 4\), not 1"),
        # Loops.
        (loop(GOOD, extent=index(-1)), "the extent is -1: 0 or more is allowed"),
        (
            loop(loop(GOOD, K, CI, "vectorized")),
            "loop C.i > loop C.k: vectorized loops have a constant extent, not C.i",
        ),
        (
            loop(loop(GOOD, K, CI + 1, "unrolled")),
            r"unrolled loops have a constant .*, not C.i \+ 1",
        ),
        (
            loop(GOOD, extent=Cast(Load(A, (ZERO, ZERO)), INDEX)),
            r"the extent reads a buffer: int64\(A\[0, 0\]\)",
        ),
        (
            loop(If(Const(True, BOOL), loop(GOOD, K, kind="parallel")), kind="vectorized"),
            "^function f > loop C.i > loop C.k: a parallel loop inside the vectorized loop C.i$",
        ),
        (
            loop(block(GOOD, iters=(BlockIter(Var("i"), -2, IterKind.SPATIAL, CI),))),
            "axis i has -2 values: 0 or more is allowed",
        ),
        # Inputs.
        (Store(A, (ZERO, ZERO), ONE), "A is an input: nothing is stored to it unless it is"),
    ],
)
def test_refusals(body: Stmt, message: str) -> None:
    verify(program(GOOD))
    with pytest.raises(IRError, match=message):
        verify(program(body))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (PrimFunc("", (A,), (C,), GOOD), "'' cannot be the name of a function"),
        (PrimFunc("f", (A, A), (C,), GOOD), "^function f: A names an input, and already an input"),
        (PrimFunc("f", (A,), (C, C), GOOD), "C names an output, and already an output"),
        (PrimFunc("f", (C,), (C, C), GOOD), "C names an output, and already an input"),
        (PrimFunc("f", (replace(C, dtype=INT8),), (C,), GOOD), "C is both input and output, and"),
    ],
)
def test_refusals_of_signatures(function: PrimFunc, message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify(function)


@pytest.mark.parametrize(
    "body",
    [
        Seq(()),
        loop(loop(store(), K, CI)),
        loop(loop(GOOD, K, kind="vectorized"), kind="parallel"),
        loop(GOOD, extent=index(0), kind="vectorized"),
        loop(Seq((block(GOOD), block(GOOD, name="another")))),
        loop(block(loop(store(ONE, Var("i") + K), K))),
        loop(block(loop(block(store(ONE, Var("j")), iters=(NESTED,)), K))),
        store(Const(math.nan, FLOAT32), ZERO),
        store(Cast(Const(math.inf, FLOAT64), FLOAT32), ZERO),
    ],
)
def test_legal(body: Stmt) -> None:
    verify(program(body))


def test_an_output_that_is_an_input_is_stored_to() -> None:
    verify(PrimFunc("f", (A, C), (C,), GOOD))


@pytest.mark.parametrize(
    "over",
    [
        lambda expr: -expr,
        lambda expr: expr + 1.0,
        lambda expr: 1.0 + expr,
        lambda expr: Cast(expr, FLOAT32),
        lambda expr: select(Const(True, BOOL), expr, 1.0),
        lambda expr: select(Const(True, BOOL), 1.0, expr),
    ],
)
def test_depth_of_expressions(over: Callable[[Expr], Expr]) -> None:
    deep: Expr = ONE
    for _ in range(MAX_DEPTH - 2):
        deep = over(deep)
    verify(program(store(deep, ZERO)))
    with pytest.raises(IRError, match=f"an expression is nested more than {MAX_DEPTH} deep"):
        verify(program(store(over(deep), ZERO)))


def test_depth_of_statements() -> None:
    nest: Stmt = Seq(())
    for number in range(MAX_DEPTH - 1):
        nest = loop(nest, Var(f"l{number}"))
    verify(program(nest))
    with pytest.raises(IRError, match=f"nested more than {MAX_DEPTH} deep"):
        verify(program(loop(nest)))


INVOKING = """
func f(V: float32[3, 4], M: int8[2, 3], Q: int8[3, 1]) -> (Y: float32[4], R: int32[1, 2]):
  for i in 3:
    invoke copy4(V[i :+ 1, 0 :+ 4], Y[0 :+ 4])
  for j in 2:
    R[0, j] = 0
  invoke matvec(M[0 :+ 2, 0 :+ 3], Q[0 :+ 3, 0 :+ 1], R[0 :+ 1, 0 :+ 2])
"""


def test_what_was_legal_elsewhere_is_not_where_one_of_its_axes_is_a_loop() -> None:
    axes = (
        BlockIter(Var("i"), 4, IterKind.SPATIAL, CI),
        BlockIter(Var("l"), 4, IterKind.SPATIAL, K),
    )
    nest = loop(loop(block(GOOD, iters=axes), K))
    verify(program(nest))
    for name in ("i", "l"):
        with pytest.raises(IRError, match=f"{name} names an axis, and already a loop"):
            verify(program(Seq((loop(GOOD, Var(name)), nest))))
    verify(program(Seq((loop(GOOD, Var("other")), nest))))


def test_what_was_legal_elsewhere_is_not_where_one_of_its_buffers_is_another() -> None:
    copy = loop(store(Load(A, (CI, ZERO))))
    verify(program(copy))
    small = replace(A, shape=(2, 2))
    with pytest.raises(IRError, match=r"A is used as A: float32\[4, 4\], and declared as"):
        verify(PrimFunc("f", (small,), (C,), copy))


def test_operands_that_fit() -> None:
    verify(parse(INVOKING, INTRINSICS))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Y[0 :+ 4])", "Y[0 :+ 4], Y[0 :+ 4])", r"invoke copy4: 2 operands \(x, y\), not 3$"),
        ("V[i :+ 1, 0 :+ 4]", "V[0 :+ 3, 0 :+ 4]", r"V \(3, 4\) stands for x \(4,\): only axes of"),
        ("V[i :+ 1, 0 :+ 4]", "V[0 :+ 4, 0 :+ 1]", r"\(4, 1\) is no box of V \(3, 4\)"),
        ("V[i :+ 1, 0 :+ 4]", "V[0 :+ 4]", "V has 2 dimensions"),
        ("V[i :+", "V[k :+", "^function f > loop i > invoke copy4: variable k is not in scope"),
        ("Y[0 :+ 4])", "V[i :+ 1, 0 :+ 4])", "V is an input: nothing is stored to it unless"),
        ("Y: float32", "Y: float64", "Y is float64 and stands for y, which is float32"),
        ("M: int8[2, 3]", "M: int32[2, 3]", "M is int32 and stands for p, which is int8"),
        ("R[0 :+ 1, 0 :+ 2])", "R[0 :+ 1, 0 :+ 1])", r"R \(1, 1\) stands for r \(1, 2\)"),
    ],
)
def test_operands_that_do_not(old: str, new: str, message: str) -> None:
    assert old in INVOKING
    with pytest.raises(IRError, match=message):
        verify(parse(INVOKING.replace(old, new), INTRINSICS))


def test_an_intrinsic_must_be_legal_itself() -> None:
    wrong = PrimFunc("w", (A,), (C,), store())
    regions = (Region(A, (ZERO, ZERO), (4, 4)), Region(C, (ZERO,), (4,)))
    with pytest.raises(IRError, match=r"^function w: variable C\.i is not in scope"):
        verify(program(Invoke(wrong, regions)))

"""Names in scope and types of expressions, by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT16, FLOAT32, INDEX, INT8, INT32, UINT8, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.syntax import MAX_DEPTH
from tandem.compiler.ir.verifier_scope import VerifierScope

A = Buffer("A", (2, 3), INT8)
ROW, COLUMN = Var("i"), Var("j")
ZERO, ONE = Const(0, INDEX), Const(1, INDEX)
SMALL = Const(1, INT8)


def scope(*variables: str, buffers: tuple[Buffer, ...] = (A,)) -> VerifierScope:
    made = VerifierScope("f")
    for buffer in buffers:
        made.declare(buffer, "an input")
    made.variables |= {*variables}
    return made


def refused(message: str) -> pytest.RaisesExc[Any]:
    return pytest.raises(IRError, match=f"^function f: {re.escape(message)}$")


def test_paths_of_messages() -> None:
    made = scope()
    made.enter("loop", "i")
    made.enter("block", "b")
    with pytest.raises(IRError, match=r"^function f > loop i > block b: wrong$"):
        made.fail("wrong")
    made.leave()
    with pytest.raises(IRError, match=r"^function f > loop i: wrong$"):
        made.fail("wrong")


def test_names() -> None:
    made = scope()
    made.check_name("C.i_o", "a loop")
    with refused("'2a' cannot be the name of a loop: letters, digits, _ and . are used"):
        made.check_name("2a", "a loop")
    made.declare_name("b", "a block")
    assert made.declared == {"A": "an input", "b": "a block"}
    with refused("b names a loop, and already a block"):
        made.declare_name("b", "a loop")


def test_buffers() -> None:
    made = scope()
    assert made.buffers == {"A": A}
    with refused("A names an output, and already an input"):
        made.declare(A, "an output")
    with refused("'B-' cannot be the name of an output: letters, digits, _ and . are used"):
        made.declare(Buffer("B-", (2,), INT8), "an output")


def test_variables() -> None:
    made = scope()
    made.variable(ROW, "a loop")
    with refused("inf cannot be the name of a loop: it is a number"):
        made.variable(Var("inf"), "a loop")
    with refused("i is int32: variables are int64"):
        made.variable(Var("i", INT32), "a loop")
    made.variable(Var("i", DType(Kind.INT, 64)), "a loop")
    with refused("'' cannot be the name of a loop: letters, digits, _ and . are used"):
        made.variable(Var(""), "a loop")


def test_accesses() -> None:
    made = scope("i", "j")
    made.check_access(A, (ROW, COLUMN), 0)
    made.check_access(Buffer("A", (2, 3), INT8), (ROW, COLUMN), 0)
    with refused("there is no buffer B here; there are A"):
        made.check_access(Buffer("B", (2,), INT8), (ROW,), 0)
    with refused("there is no buffer A here; there are none"):
        scope(buffers=()).check_access(A, (ROW, COLUMN), 0)
    with refused("A is used as A: int8[3, 2], and declared as A: int8[2, 3]"):
        made.check_access(Buffer("A", (3, 2), INT8), (ROW, COLUMN), 0)
    with refused("A has 2 dimensions (2, 3), not 1"):
        made.check_access(A, (ROW,), 0)
    with refused("an index of A is int64, not int8: int8(1)"):
        made.check_access(A, (ROW, SMALL), 0)


def typed(expr: Expr, wanted: DType, depth: int = 0) -> None:
    scope("i", "j").expr(expr, wanted, "it", depth)


def test_types_that_fit() -> None:
    load = Load(A, (ROW, COLUMN))
    typed(ROW, INDEX)
    typed(load, INT8)
    typed(Cast(load, FLOAT32), FLOAT32)
    typed(Reinterpret(load, UINT8), UINT8)
    typed(Unary(UnaryOp.NEG, load), INT8)
    typed(Binary(BinaryOp.ADD, load, SMALL), INT8)
    typed(Binary(BinaryOp.LT, load, SMALL), BOOL)
    typed(Select(Binary(BinaryOp.LT, ROW, COLUMN), load, SMALL), INT8)
    with refused("it is int8, not int64: i"):
        typed(ROW, INT8)


def test_types_that_do_not() -> None:
    load = Load(A, (ROW, COLUMN))
    half = Const(1.0, FLOAT32)
    with refused("no cast is defined from int8 to float16"):
        typed(Cast(load, FLOAT16), FLOAT16)
    with refused("the bits of int8 are none of int32"):
        typed(Reinterpret(load, INT32), INT32)
    with refused("in ~float32(1.0): ~ is not defined for float32"):
        typed(Unary(UnaryOp.NOT, half), FLOAT32)
    with refused("in i + A[i, j]: int64 is expected here, not int8: cast() converts"):
        typed(Binary(BinaryOp.ADD, ROW, load), INDEX)
    with refused("the condition of a select is bool, not int64: i"):
        typed(Select(ROW, load, load), INT8)
    with refused("the other value of a select is int8, not int64: i"):
        typed(Select(Binary(BinaryOp.LT, ROW, COLUMN), load, ROW), INT8)


def test_variables_in_expressions() -> None:
    with refused("variable k is not in scope; there are i, j"):
        typed(Var("k"), INDEX)
    with refused("variable i is not in scope; there are none"):
        scope().expr(ROW + 0, INDEX, "it", 0)
    with refused("variable i is int64, not int32"):
        typed(Var("i", INT32), INT32)


@pytest.mark.parametrize(
    ("const", "message"),
    [
        (Const(1.0, FLOAT16), "there are no constants of float16"),
        (Const(1.0, INT8), "a constant of int8 holds float 1.0"),
        (Const(True, INT8), "a constant of int8 holds bool True"),
        (Const(1, BOOL), "a constant of bool holds int 1"),
        (Const(1, FLOAT32), "a constant of float32 holds int 1"),
        (Const(128, INT8), "128 is no int8: -128..127"),
        (Const(-1, UINT8), "-1 is no uint8: 0..255"),
        (Const(0.1, FLOAT32), "0.1 is no float32: 0.10000000149011612 is"),
    ],
)
def test_constants_that_are_none(const: Const, message: str) -> None:
    with refused(message):
        typed(const, const.dtype)


def test_constants() -> None:
    for const in (
        Const(-128, INT8),
        Const(255, UINT8),
        Const(False, BOOL),
        Const(0.5, FLOAT32),
        Const(float("nan"), FLOAT32),
        Const(float("-inf"), FLOAT32),
    ):
        typed(const, const.dtype)


def nested(depth: int) -> Expr:
    found: Expr = ROW
    for _ in range(depth - 1):
        found = Unary(UnaryOp.NEG, found)
    return found


def test_depth() -> None:
    message = f"an expression is nested more than {MAX_DEPTH} deep"
    typed(nested(MAX_DEPTH), INDEX)
    with refused(message):
        typed(nested(MAX_DEPTH + 1), INDEX)
    # What is around counts, also where the expression was verified elsewhere.
    once = nested(MAX_DEPTH - 5)
    typed(once, INDEX)
    typed(once, INDEX, 5)
    with refused(message):
        typed(once, INDEX, 6)
    typed(ONE, INDEX)
    typed(ONE, INDEX, MAX_DEPTH - 1)
    with refused(message):
        typed(ONE, INDEX, MAX_DEPTH)


def test_what_was_verified_elsewhere() -> None:
    read = Binary(BinaryOp.ADD, Load(A, (ROW, ZERO)), SMALL)
    scope("i").expr(read, INT8, "it", 0)
    scope("i", "j").expr(read, INT8, "it", 0)
    with refused("variable i is not in scope; there are j"):
        scope("j").expr(read, INT8, "it", 0)
    with refused("there is no buffer A here; there are B"):
        scope("i", buffers=(Buffer("B", (2, 3), INT8),)).expr(read, INT8, "it", 0)
    other = Buffer("A", (4, 3), INT8)
    with refused("A is used as A: int8[2, 3], and declared as A: int8[4, 3]"):
        scope("i", buffers=(other,)).expr(read, INT8, "it", 0)
    same = Buffer("A", (2, 3), INT8)
    scope("i", buffers=(same,)).expr(read, INT8, "it", 0)
    with refused("it is int64, not int8: A[i, 0] + 1"):
        scope("i").expr(read, INDEX, "it", 0)

"""Names and precedences of the text form, against Python's own grammar."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.syntax import (
    BINARY_FUNCTIONS,
    PRECEDENCE,
    PREFIX_OPERATORS,
    PREFIX_PRECEDENCE,
    UNARY_FUNCTIONS,
    is_name,
)


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("C", True),
        ("C.i_o", True),
        ("_x9", True),
        ("C.0", True),
        ("C.i.j", True),
        ("9x", False),
        ("C.", False),
        (".C", False),
        ("C..i", False),
        ("C i", False),
        ("C\n", False),
        ("", False),
        ("é", False),
    ],
)
def test_names(text: str, legal: bool) -> None:
    assert is_name(text) is legal


def outer(text: str) -> type[ast.AST]:
    """The operator that Python applies last."""
    (statement,) = ast.parse(text).body
    assert isinstance(statement, ast.Expr)
    match statement.value:
        case ast.BinOp(op=op):
            return type(op)
        case ast.Compare(ops=[op]):
            return type(op)
        case other:
            return type(other)


def test_precedences_are_python_s() -> None:
    for one, other in product(PRECEDENCE, repeat=2):
        if one.compares and other.compares:
            assert PRECEDENCE[one] == PRECEDENCE[other]  # they do not chain
            continue
        # With equal precedence the one on the right is applied last.
        last = other if PRECEDENCE[one] >= PRECEDENCE[other] else one
        assert outer(f"a {one.value} b {other.value} c") is outer(f"a {last.value} b")
    for op in PRECEDENCE:
        assert outer(f"-a {op.value} b") is outer(f"a {op.value} b")
        assert PRECEDENCE[op] < PREFIX_PRECEDENCE


def test_what_is_written_as_a_call() -> None:
    assert set(BINARY_FUNCTIONS) == {"pow", "min", "max"}
    assert BINARY_FUNCTIONS["min"] is BinaryOp.MIN
    assert PREFIX_OPERATORS == {"-": UnaryOp.NEG, "~": UnaryOp.NOT}
    assert len(UNARY_FUNCTIONS) == len(UnaryOp) - 2
    assert UNARY_FUNCTIONS["round"] is UnaryOp.ROUND

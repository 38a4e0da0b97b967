"""Parses expressions.

The type of a number is inferred from its context. So each subexpression is read as a `_Term` with
the type that its own text determines, and is built when the context has determined its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tandem.compiler.errors import IRError, ParseError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType, dtype_of
from tandem.compiler.ir.expr import (
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Var,
    binary,
    constant,
    unary,
)
from tandem.compiler.ir.lexer import Cursor, Token, TokenKind
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.ops import reinterpret
from tandem.compiler.ir.syntax import (
    BINARY_FUNCTIONS,
    BITS,
    NUMBER_WORDS,
    PRECEDENCE,
    PREFIX_OPERATORS,
    UNARY_FUNCTIONS,
)

Buffers: TypeAlias = Mapping[str, Buffer]
"""The buffers in scope, by name."""

_INFIX = {op.value: op for op in PRECEDENCE}
_MIRRORED = {">": BinaryOp.LT, ">=": BinaryOp.LE}
_FUNCTIONS = ", ".join(["select", *BINARY_FUNCTIONS, *UNARY_FUNCTIONS])
_START = "a number, a name, '(', '-' or '~'"


@dataclass(frozen=True, slots=True)
class _Term:
    """A subexpression that is parsed but not yet built.

    Attributes
    ----------
    token
        The token that gives its position in messages.
    dtype
        The type that its text determines; None for numbers, and expressions of numbers only.
    depth
        The depth of its tree.
    build
        Returns the expression with the given type, which is `dtype` unless `dtype` is None.
    literal
        Whether the text is a plain number.
    """

    token: Token
    dtype: DType | None
    depth: int
    build: Callable[[DType], Expr]
    literal: bool = False


def expression(cursor: Cursor, buffers: Buffers, expected: DType) -> Expr:
    """Parse an expression of the expected type."""
    return _build(_infix(cursor, buffers, 0), expected)


def element(cursor: Cursor, buffers: Buffers) -> tuple[Buffer, tuple[Expr, ...]]:
    """Parse an element of a buffer: the buffer, and the indices."""
    buffer, within = _element(cursor, buffers)
    return buffer, _indices(within)


def known_buffer(cursor: Cursor, buffers: Buffers) -> Buffer:
    """Parse the name of a buffer that is in scope."""
    if cursor.token.kind is not TokenKind.NAME:
        cursor.fail("the name of a buffer")
    buffer = buffers.get(cursor.token.text)
    if buffer is None:
        cursor.fail(f"a buffer that is declared: {', '.join(buffers) or 'there is none'}")
    cursor.advance()
    return buffer


def type_named(token: Token, expected: str = "a type") -> DType:
    """Return the type that a token names; `expected` is for the message."""
    try:
        return dtype_of(token.text)
    except (IRError, ValueError) as error:
        # ValueError: Python refuses to read integers of many digits.
        types = "(int8, uint8, float32, bool or the like)"
        raise token.error(f"found {token}, expected {expected} {types}") from error


def _build(term: _Term, expected: DType) -> Expr:
    if term.dtype not in (None, expected):
        raise term.token.error(f"found {term.dtype}, expected {expected}: {expected}(..) converts")
    try:
        return term.build(expected)
    except ParseError:
        raise
    except IRError as error:
        raise term.token.error(str(error)) from error


def _indices(terms: tuple[_Term, ...]) -> tuple[Expr, ...]:
    return tuple(_build(each, INDEX) for each in terms)


def _node(
    cursor: Cursor,
    token: Token,
    dtype: DType | None,
    parts: tuple[_Term, ...],
    build: Callable[[DType], Expr],
) -> _Term:
    """Return a term with operands."""
    depth = 1 + max((part.depth for part in parts), default=0)
    with cursor.deeper(depth):
        return _Term(token, dtype, depth, build)


def _infix(cursor: Cursor, buffers: Buffers, level: int) -> _Term:
    """Parse operands and infix operators of at least this precedence."""
    left = _operand(cursor, buffers)
    compared = False
    while True:
        token = cursor.token
        mirrored = token.text in _MIRRORED
        op = (_MIRRORED if mirrored else _INFIX).get(token.text)
        if op is None or PRECEDENCE[op] < level:
            return left
        if op.compares and compared:
            cursor.fail("no second comparison: comparisons do not chain")
        cursor.advance()
        right = _infix(cursor, buffers, PRECEDENCE[op] + 1)
        left = _operation(cursor, token, op, *((right, left) if mirrored else (left, right)))
        compared = op.compares


def _operation(cursor: Cursor, token: Token, op: BinaryOp, left: _Term, right: _Term) -> _Term:
    dtype = left.dtype or right.dtype

    def build(expected: DType) -> Expr:
        inner = (dtype or INDEX) if op.compares else expected
        return binary(op, _build(left, inner), _build(right, inner))

    return _node(cursor, token, BOOL if op.compares else dtype, (left, right), build)


def _operand(cursor: Cursor, buffers: Buffers) -> _Term:
    token = cursor.token
    named = token.kind is TokenKind.NAME
    if token.kind is TokenKind.NUMBER:
        return _number(cursor.advance(), 1)
    if cursor.accept("("):
        with cursor.deeper():
            inner = _infix(cursor, buffers, 0)
        cursor.expect(")")
        return inner
    if token.text in PREFIX_OPERATORS:
        cursor.advance()
        if token.text == "-" and _at_number(cursor):
            return _number(cursor.advance(), -1)
        with cursor.deeper():
            operand = _operand(cursor, buffers)
        return _unary(cursor, token, PREFIX_OPERATORS[token.text], operand)
    if named and cursor.followed_by("("):
        return _call(cursor, buffers)
    if named and cursor.followed_by("["):
        buffer, within = _element(cursor, buffers)
        return _node(cursor, token, buffer.dtype, within, lambda _: Load(buffer, _indices(within)))
    if named:
        return _word(cursor.advance())
    cursor.fail(_START)


def _at_number(cursor: Cursor) -> bool:
    token = cursor.token
    word = token.text in ("inf", "nan") and not cursor.followed_by("(", "[")
    return token.kind is TokenKind.NUMBER or word


def _word(token: Token) -> _Term:
    if token.text in ("True", "False"):
        return _Term(token, BOOL, 1, lambda _: Const(token.text == "True", BOOL))
    if token.text in NUMBER_WORDS:
        return _number(token, 1)
    return _Term(token, INDEX, 1, lambda _: Var(token.text))


def _number(token: Token, sign: int) -> _Term:
    whole = token.text.isdecimal()
    value = sign * (int(token.text) if whole else float(token.text))

    def build(dtype: DType) -> Expr:
        if dtype == BOOL or not (whole or dtype.is_float):
            raise token.error(f"found {token}, expected {dtype}")
        return constant(value, dtype)

    return _Term(token, None, 1, build, literal=True)


def _element(cursor: Cursor, buffers: Buffers) -> tuple[Buffer, tuple[_Term, ...]]:
    token = cursor.token
    buffer = known_buffer(cursor, buffers)
    within = _list(cursor, buffers, "[", "]")
    if len(within) != len(buffer.shape):
        raise token.error(
            f"found {len(within)} indices, expected {len(buffer.shape)} of {buffer.name} "
            f"{buffer.shape}"
        )
    return buffer, within


def _unary(cursor: Cursor, token: Token, op: UnaryOp, operand: _Term) -> _Term:
    return _node(
        cursor, token, operand.dtype, (operand,), lambda dtype: unary(op, _build(operand, dtype))
    )


def _call(cursor: Cursor, buffers: Buffers) -> _Term:
    token = cursor.advance()
    parts = _list(cursor, buffers, "(", ")")

    def count(expected: int) -> None:
        if len(parts) != expected:
            raise token.error(f"found {len(parts)} arguments, expected {expected} of {token.text}")

    if token.text == "select":
        count(3)
        return _select(cursor, token, *parts)
    if token.text in BINARY_FUNCTIONS:
        count(2)
        return _operation(cursor, token, BINARY_FUNCTIONS[token.text], *parts)
    if token.text in UNARY_FUNCTIONS:
        count(1)
        return _unary(cursor, token, UNARY_FUNCTIONS[token.text], *parts)
    if token.text.startswith(BITS):
        dtype = type_named(replace(token, text=token.text.removeprefix(BITS)))
        count(1)
        return _reinterpreted(cursor, token, dtype, parts[0])
    dtype = type_named(token, f"one of {_FUNCTIONS}, or a type")
    count(1)
    return _cast(cursor, token, dtype, parts[0])


def _select(cursor: Cursor, token: Token, condition: _Term, then: _Term, otherwise: _Term) -> _Term:
    def build(dtype: DType) -> Expr:
        return Select(_build(condition, BOOL), _build(then, dtype), _build(otherwise, dtype))

    parts = (condition, then, otherwise)
    return _node(cursor, token, then.dtype or otherwise.dtype, parts, build)


def _cast(cursor: Cursor, token: Token, dtype: DType, operand: _Term) -> _Term:
    """Return a cast; for a number, a constant of that type."""
    if operand.literal:
        return _Term(token, dtype, 1, lambda _: _build(operand, dtype))
    source = operand.dtype or INDEX
    return _node(cursor, token, dtype, (operand,), lambda _: Cast(_build(operand, source), dtype))


def _reinterpreted(cursor: Cursor, token: Token, dtype: DType, operand: _Term) -> _Term:
    source = operand.dtype or INDEX
    return _node(
        cursor, token, dtype, (operand,), lambda _: reinterpret(_build(operand, source), dtype)
    )


def _list(cursor: Cursor, buffers: Buffers, opening: str, closing: str) -> tuple[_Term, ...]:
    """Parse terms between brackets, separated by commas."""
    # Not `Cursor.listed`, which would take two more stack frames for each level of nesting.
    cursor.expect(opening)
    found: list[_Term] = []
    with cursor.deeper():
        while not cursor.at(closing) and (not found or cursor.accept(",")):
            found.append(_infix(cursor, buffers, 0))
    if not cursor.accept(closing):
        cursor.fail(f"an operator, ',' or {closing!r}")
    return tuple(found)

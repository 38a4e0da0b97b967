"""From text to types, constants and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from math import prod
from types import NoneType
from typing import Any, TypeVar, get_origin

import numpy as np

from compiler.errors import GraphError, IRError
from compiler.graph.attributes import Attributes, alternatives, declared, name_of
from compiler.graph.constant import Constant
from compiler.graph.extents import Dim, Extent, product
from compiler.graph.syntax import NONE, REFERENCE, dtype_named
from compiler.graph.types import TensorType, TupleType, Type
from compiler.ir.dtypes import BOOL, DType
from compiler.ir.expr import constant as number_of
from compiler.ir.lexer import Cursor, TokenKind

__all__ = ["attributes", "constant", "starts_type", "tuple_of", "type_"]

A = TypeVar("A", bound=Attributes)
T = TypeVar("T")


def starts_type(cursor: Cursor) -> bool:
    """Whether a tensor's type comes next."""
    return cursor.token.kind is TokenKind.NAME and dtype_named(cursor.token.text) is not None


def type_(cursor: Cursor) -> Type:
    """Take a type."""
    if not cursor.at("("):
        return _tensor_type(cursor)
    with cursor.deeper():
        return TupleType(tuple_of(cursor, lambda: type_(cursor)))


def tuple_of(cursor: Cursor, take: Callable[[], T]) -> tuple[T, ...]:
    """As `Cursor.listed`, but a single item has a comma behind it."""
    cursor.expect("(")
    items: list[T] = []
    while not cursor.at(")"):
        items.append(take())
        if not cursor.at(")") or len(items) == 1:
            cursor.expect(",")
    cursor.expect(")")
    return tuple(items)


def _tensor_type(cursor: Cursor) -> TensorType:
    dtype = dtype_named(cursor.token.text)
    if dtype is None or cursor.token.kind is not TokenKind.NAME:
        cursor.fail("a type, as float32[2, N], or a tuple of types")
    cursor.advance()
    return TensorType(cursor.listed("[", "]", lambda: _extent(cursor)), dtype)


def _extent(cursor: Cursor) -> Extent:
    token = cursor.token
    factor = 1
    if token.kind is TokenKind.NUMBER:
        factor = cursor.integer("an extent")
        if not cursor.accept("*"):
            return factor
    symbols = [cursor.take(TokenKind.NAME, "a symbol").text]
    while cursor.accept("*"):
        symbols.append(cursor.take(TokenKind.NAME, "a symbol").text)
    try:
        return product([factor, *(Dim((each,)) for each in symbols)])
    except GraphError as error:
        raise token.error(str(error)) from None


def constant(cursor: Cursor, known: Mapping[str, Constant]) -> Constant:
    """Take a constant: written out, or a reference to one that is known."""
    token = cursor.token
    said = _tensor_type(cursor)
    if cursor.accept("@"):
        name = cursor.take(TokenKind.NAME, "a constant's digest").text
        found = known.get(name.removeprefix(REFERENCE))
        if found is None or not name.startswith(REFERENCE):
            raise token.error(f"found the constant {name}, expected one that is given")
        if found.type != said:
            raise token.error(f"found {said}, expected {found.type}: that is what {name} is")
        return found
    shape = tuple(each for each in said.shape if isinstance(each, int))
    values = cursor.listed("(", ")", lambda: _element(cursor, said.dtype))
    if len(shape) != len(said.shape) or len(values) != prod(shape):
        raise token.error(f"found {len(values)} elements, expected as many as {said} has")
    try:
        return Constant(np.array(values, said.dtype.numpy).reshape(shape))
    except IRError as error:
        raise token.error(str(error)) from None


def _element(cursor: Cursor, dtype: DType) -> int | float | bool:
    token = cursor.token
    if dtype == BOOL:
        return _truth(cursor)
    value = _number(cursor)
    if isinstance(value, float) and not dtype.is_float:
        raise token.error(f"found {token}, expected {dtype}")
    try:
        return number_of(value, dtype).value
    except IRError as error:
        raise token.error(str(error)) from error


def _truth(cursor: Cursor) -> bool:
    if cursor.token.text not in ("True", "False"):
        cursor.fail("True or False")
    return cursor.advance().text == "True"


def _number(cursor: Cursor) -> int | float:
    sign = -1 if cursor.accept("-") else 1
    token = cursor.token
    if token.kind is TokenKind.NAME and token.text == "inf":
        cursor.advance()
        return sign * float("inf")
    if token.kind is not TokenKind.NUMBER:
        cursor.fail("a number")
    cursor.advance()
    return sign * (int(token.text) if token.text.isdecimal() else float(token.text))


def attributes(cursor: Cursor, kind: type[A]) -> A:
    """Take attributes up to the closing bracket, which stays; those left out have defaults."""
    hints = declared(kind)
    found: dict[str, Any] = {}
    while not cursor.at(")"):
        token = cursor.take(TokenKind.NAME, f"an attribute: {', '.join(hints) or 'there is none'}")
        if token.text not in hints or token.text in found:
            allowed = ", ".join(each for each in hints if each not in found)
            raise token.error(f"found {token}, expected one of {allowed or 'none'}")
        cursor.expect("=")
        found[token.text] = _attribute(cursor, hints[token.text])
        if not cursor.at(")"):
            cursor.expect(",")
    missing = [it.name for it in fields(kind) if it.default is MISSING and it.name not in found]
    if missing:
        cursor.fail(f"the attribute {missing[0]}")
    return kind(**found)


def _attribute(cursor: Cursor, hint: Any) -> Any:
    options = alternatives(hint)
    token = cursor.token
    if token.kind is TokenKind.NAME:
        for each in options:
            if (found := _word(token.text, each)) is not None:
                cursor.advance()
                return found[0]
    if any(get_origin(each) is tuple for each in options) and cursor.at("["):
        return cursor.listed("[", "]", lambda: _integer(cursor))
    if (int in options or float in options) and (
        token.kind is TokenKind.NUMBER or cursor.at("-") or token.text == "inf"
    ):
        value = _number(cursor)
        if type(value) in options:
            return value
    raise token.error(f"found {token}, expected {name_of(hint)}")


def _word(word: str, kind: Any) -> tuple[Any] | None:
    """The value that a word is, if it is one of that type."""
    if kind is NoneType:
        return (None,) if word == NONE else None
    if kind is bool:
        return (word == "True",) if word in ("True", "False") else None
    if kind is DType:
        found = dtype_named(word)
        return None if found is None else (found,)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(((each,) for each in kind if each.value == word), None)
    return None


def _integer(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * cursor.integer("an integer")

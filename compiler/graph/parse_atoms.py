"""Parsing of types, constants and attributes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from math import prod
from types import MappingProxyType, NoneType
from typing import Any, Final, TypeVar, get_origin

import numpy as np

from tandem.compiler.errors import GraphError, IRError
from tandem.compiler.graph.attributes import Attributes, alternatives, declared, name_of
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.extents import Dim, Extent, product
from tandem.compiler.graph.syntax import FUNCTION_TYPE, NONE, REFERENCE, dtype_named
from tandem.compiler.graph.types import (
    DataType,
    Declarations,
    FunctionType,
    GenericType,
    TensorType,
    TupleType,
    Type,
)
from tandem.compiler.ir.dtypes import BOOL, DType
from tandem.compiler.ir.expr import constant as number_of
from tandem.compiler.ir.lexer import Cursor, TokenKind
from tandem.compiler.layouts.layout import Layout
from tandem.compiler.layouts.parse import layout

A = TypeVar("A", bound=Attributes)
T = TypeVar("T")

_TRUTHS: Final[Mapping[str, bool]] = MappingProxyType({"True": True, "False": False})


def starts_type(cursor: Cursor) -> bool:
    """Whether the next token starts a tensor type."""
    return cursor.token.kind is TokenKind.NAME and dtype_named(cursor.token.text) is not None


@dataclass(frozen=True, slots=True)
class TypeNames:
    """The names that types may have.

    Attributes
    ----------
    elements
        Names of open element types.
    arities
        Numbers of arguments of data types by name; of parameters of a declaration, none.
    declared
        What the names of data types mean; None in declarations.
    """

    elements: Collection[str] = ()
    arities: Mapping[str, int] = field(default_factory=dict)
    declared: Declarations | None = None


def type_(cursor: Cursor, names: TypeNames) -> Type:
    """Parse a type that may have the given names."""
    if cursor.at_word(FUNCTION_TYPE) and cursor.followed_by("("):
        cursor.advance()
        with cursor.deeper():
            params = cursor.listed("(", ")", lambda: type_(cursor, names))
            cursor.expect("->")
            return FunctionType(params, type_(cursor, names))
    if cursor.token.text in names.arities:
        return _data_type(cursor, names)
    if cursor.token.text in names.elements:
        element = cursor.advance().text
        return GenericType(cursor.listed("[", "]", lambda: _extent(cursor)), element)
    if not cursor.at("("):
        return _tensor_type(cursor)
    with cursor.deeper():
        return TupleType(tuple_of(cursor, lambda: type_(cursor, names)))


def _data_type(cursor: Cursor, names: TypeNames) -> DataType:
    token = cursor.advance()
    count = names.arities[token.text]
    with cursor.deeper():
        given = cursor.listed("[", "]", lambda: type_(cursor, names)) if count else ()
    if len(given) != count:
        raise token.error(f"found {token} of {len(given)} types, expected {count}")
    return DataType(token.text, given, names.declared)


def tuple_of(cursor: Cursor, take: Callable[[], T]) -> tuple[T, ...]:
    """Parse items in round brackets; a single item is followed by a comma."""
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
        cursor.fail("a type, as float32[2, N], a tuple of types, a data type, or fn(types) -> type")
    token = cursor.advance()
    shape = cursor.listed("[", "]", lambda: _extent(cursor))
    try:
        return TensorType(shape, dtype, layout(cursor) if cursor.at("{") else None)
    except GraphError as error:
        raise token.error(str(error)) from None


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
    """Parse a constant: its elements, or a reference to one of the `known` constants."""
    token = cursor.token
    declared_type = _tensor_type(cursor)
    if cursor.accept("@"):
        name = cursor.take(TokenKind.NAME, "a constant's digest").text
        found = known.get(name.removeprefix(REFERENCE))
        if found is None or not name.startswith(REFERENCE):
            raise token.error(f"found the constant {name}, expected a digest of a given constant")
        if found.type != declared_type:
            raise token.error(f"found {declared_type}, expected {found.type}: the type of {name}")
        return found
    shape = tuple(each for each in declared_type.shape if isinstance(each, int))
    values = cursor.listed("(", ")", lambda: _element(cursor, declared_type.dtype))
    if len(shape) != len(declared_type.shape) or len(values) != prod(shape):
        raise token.error(f"found {len(values)} elements, expected as many as {declared_type} has")
    try:
        return Constant(np.array(values, declared_type.dtype.numpy).reshape(shape))
    except IRError as error:
        raise token.error(str(error)) from None


def _element(cursor: Cursor, dtype: DType) -> int | float | bool:
    token = cursor.token
    if dtype == BOOL:
        if token.text not in _TRUTHS:
            cursor.fail("True or False")
        return _TRUTHS[cursor.advance().text]
    value = _number(cursor)
    if isinstance(value, float) and not dtype.is_float:
        raise token.error(f"found {token}, expected {dtype}")
    try:
        return number_of(value, dtype).value
    except IRError as error:
        raise token.error(str(error)) from error


def _number(cursor: Cursor) -> int | float:
    sign = -1 if cursor.accept("-") else 1
    if cursor.token.kind is not TokenKind.NUMBER and cursor.token.text != "inf":
        cursor.fail("a number")
    text = cursor.advance().text
    return sign * (int(text) if text.isdecimal() else float(text))


def attributes(cursor: Cursor, kind: type[A]) -> A:
    """Parse attributes up to the closing bracket; omitted attributes have their defaults."""
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
    required = (each.name for each in fields(kind) if each.default is MISSING)
    if missing := [name for name in required if name not in found]:
        cursor.fail(f"the attribute {missing[0]}")
    return kind(**found)


def _attribute(cursor: Cursor, hint: Any) -> Any:
    options = alternatives(hint)
    token = cursor.token
    words = {word: value for each in options for word, value in _words(each).items()}
    if DType in options and (dtype := dtype_named(token.text)) is not None:
        words[token.text] = dtype
    if token.text in words:
        cursor.advance()
        return words[token.text]
    if Layout in options and cursor.at("{"):
        return layout(cursor)
    if any(get_origin(each) is tuple for each in options) and cursor.at("["):
        return cursor.listed("[", "]", lambda: _integer(cursor))
    if (int in options or float in options) and (
        token.kind is TokenKind.NUMBER or cursor.at("-") or token.text == "inf"
    ):
        value = _number(cursor)
        if type(value) in options:
            return value
    raise token.error(f"found {token}, expected {name_of(hint)}")


def _words(kind: Any) -> Mapping[str, Any]:
    """The values of an attribute's type by their text; empty for numbers and element types."""
    if kind is NoneType:
        return {NONE: None}
    if kind is bool:
        return _TRUTHS
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {each.value: each for each in kind}
    return {}


def _integer(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * cursor.integer("an integer")

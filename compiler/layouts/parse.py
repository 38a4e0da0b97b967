"""Parsing of layouts: the inverse of `str`."""

from __future__ import annotations

from tandem.compiler.errors import GraphError
from tandem.compiler.ir.lexer import Cursor, TokenKind
from tandem.compiler.layouts.layout import Bytes, Inner, Layout, One, Outer, Part, Whole


def layout(cursor: Cursor) -> Layout:
    """Parse a layout, as `{0, 1/16, 2, 3, _, 1%16}`."""
    token = cursor.token
    parts = cursor.listed("{", "}", lambda: _part(cursor))
    try:
        return Layout(parts)
    except GraphError as error:
        raise token.error(str(error)) from None


def _part(cursor: Cursor) -> Part:
    if cursor.token.kind is TokenKind.NAME:
        for part in (One(), Bytes()):
            if cursor.token.text == str(part):
                cursor.advance()
                return part
        cursor.fail("an axis, _ or bytes")
    axis = cursor.integer("an axis, _ or bytes")
    if cursor.accept("/"):
        return Outer(axis, cursor.integer("the size of a block"))
    if not cursor.accept("%"):
        return Whole(axis)
    size = cursor.integer("the size of a block")
    if not cursor.accept("="):
        return Inner(axis, size)
    zero = cursor.token
    if cursor.integer("0: the padding") != 0:
        raise zero.error(f"found {zero}, expected 0: the padding")
    return Inner(axis, size, zero=True)

"""From text to programs: the inverse of `printer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeVar

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.dtypes import BOOL, INDEX, DType
from compiler.ir.expr import Expr, Var
from compiler.ir.lexer import Cursor, TokenKind
from compiler.ir.parse_expr import expression, indices, known_buffer, type_named
from compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    Function,
    If,
    Invoke,
    IterKind,
    LoopKind,
    Region,
    Seq,
    Stmt,
    Store,
)
from compiler.ir.syntax import NUMBER_WORDS
from compiler.ir.visit import sequence

__all__ = ["parse"]

_NO_INTRINSICS: Final[Mapping[str, Function]] = MappingProxyType({})
_Word = TypeVar("_Word", bound=Enum)


def parse(text: str, intrinsics: Mapping[str, Function] = _NO_INTRINSICS) -> Function:
    """The program that a text is. Types agree in it; all else is for `verify` to say.

    `parse(text(f))` is `f` for every legal `f` whose sequences have their normal form, and gives
    them that form where they have not (`visit.sequence`).

    Parameters
    ----------
    intrinsics
        Those that `invoke` may name.

    Raises
    ------
    ParseError
        Says where, what is found there and what is expected.
    """
    cursor = Cursor(text)
    try:
        return _Parser(cursor, intrinsics).function()
    except RecursionError as error:
        # The caller is deep in the stack: that `Cursor.deeper` allows it does not help.
        raise cursor.token.error("nested too deeply for what is left of the stack") from error


class _Parser:
    def __init__(self, cursor: Cursor, intrinsics: Mapping[str, Function]) -> None:
        self._cursor = cursor
        self._intrinsics = intrinsics
        self._buffers: dict[str, Buffer] = {}

    def function(self) -> Function:
        """The whole text."""
        cursor = self._cursor
        cursor.expect_word("func")
        name = cursor.take(TokenKind.NAME, "the function's name").text
        inputs = self._parameters()
        cursor.expect("->")
        outputs = self._parameters()
        body = self._body()
        if cursor.token.kind is not TokenKind.END:
            cursor.fail("the end of the text")
        return Function(name, inputs, outputs, body)

    def _parameters(self) -> tuple[Buffer, ...]:
        return self._cursor.listed("(", ")", self._parameter)

    def _parameter(self) -> Buffer:
        token = self._cursor.token
        buffer = self._buffer()
        if self._buffers.setdefault(buffer.name, buffer) != buffer:
            raise token.error(f"found another {token}, expected the one that stands before")
        return buffer

    def _buffer(self) -> Buffer:
        cursor = self._cursor
        name = cursor.take(TokenKind.NAME, "a buffer's name").text
        cursor.expect(":")
        dtype = type_named(cursor.take(TokenKind.NAME, "a type"))
        shape = cursor.listed("[", "]", lambda: cursor.integer("an extent"))
        scope = Scope.GLOBAL
        if cursor.accept("@"):
            scope = Scope(cursor.take(TokenKind.NAME, "a scope's name").text)
        return Buffer(name, shape, dtype, scope)

    def _one_of(self, words: type[_Word]) -> _Word:
        token = self._cursor.token
        for each in words:
            if token.kind is TokenKind.NAME and token.text == each.value:
                self._cursor.advance()
                return each
        self._cursor.fail("one of " + ", ".join(each.value for each in words))

    def _body(self) -> Stmt:
        """What is indented under a line that ends with a colon."""
        self._cursor.expect(":")
        self._line_end()
        self._cursor.take(TokenKind.INDENT, "a statement, indented")
        with self._cursor.deeper():
            body = self._statements()
        self._cursor.take(TokenKind.DEDENT)
        return body

    def _line_end(self) -> None:
        self._cursor.take(TokenKind.NEWLINE)

    def _statements(self) -> Stmt:
        """All up to the end of this indentation."""
        found = [self._statement()]
        while self._cursor.token.kind not in (TokenKind.DEDENT, TokenKind.END):
            found.append(self._statement())
        return sequence(*found)

    def _statement(self) -> Stmt:
        cursor = self._cursor
        if cursor.at_word("for"):
            return self._for()
        if cursor.at_word("if"):
            cursor.advance()
            return If(self._expr(BOOL), self._body())
        if cursor.at_word("alloc"):
            return self._alloc()
        if cursor.at_word("block"):
            return self._block()
        if cursor.at_word("invoke"):
            return self._invoke()
        if cursor.at_word("pass"):
            cursor.advance()
            self._line_end()
            return Seq(())
        if cursor.token.kind is TokenKind.NAME and cursor.followed_by("["):
            return self._store()
        cursor.fail("a statement: for, if, alloc, block, invoke, pass, or an element to store to")

    def _expr(self, expected: DType) -> Expr:
        return expression(self._cursor, self._buffers, expected)

    def _var(self, what: str) -> Var:
        token = self._cursor.take(TokenKind.NAME, what)
        if token.text in NUMBER_WORDS:
            raise token.error(f"found {token}, expected {what}")
        return Var(token.text)

    def _for(self) -> For:
        cursor = self._cursor
        cursor.advance()
        var = self._var("the loop's variable")
        cursor.expect_word("in")
        extent = self._expr(INDEX)
        kind = LoopKind.SERIAL if cursor.at(":") else self._one_of(LoopKind)
        return For(var, extent, kind, self._body())

    def _store(self) -> Store:
        cursor = self._cursor
        token = cursor.token
        buffer = known_buffer(cursor, self._buffers)
        where = indices(cursor, self._buffers)
        if len(where) != len(buffer.shape):
            raise token.error(
                f"found {len(where)} indices, expected {len(buffer.shape)} of {buffer.name} "
                f"{buffer.shape}"
            )
        cursor.expect("=")
        value = self._expr(buffer.dtype)
        self._line_end()
        return Store(buffer, where, value)

    def _alloc(self) -> Alloc:
        cursor = self._cursor
        cursor.advance()
        buffer = self._buffer()
        with self._scope(buffer):
            self._line_end()
            if cursor.token.kind is TokenKind.DEDENT:
                cursor.fail("a statement, for which the buffer is")
            with cursor.deeper():
                return Alloc(buffer, self._statements())

    @contextmanager
    def _scope(self, buffer: Buffer) -> Iterator[None]:
        outside = self._buffers
        self._buffers = {**outside, buffer.name: buffer}
        yield
        self._buffers = outside

    def _block(self) -> Block:
        cursor = self._cursor
        cursor.advance()
        name = cursor.take(TokenKind.NAME, "the block's name").text
        iters = cursor.listed("(", ")", self._iter)
        cursor.expect(":")
        self._line_end()
        cursor.take(TokenKind.INDENT, "a statement, indented")
        with cursor.deeper():
            guard = self._guard()
            init: Stmt | None = None
            if cursor.at_word("init"):
                cursor.advance()
                init = self._body()
            body = self._statements()
        cursor.take(TokenKind.DEDENT)
        return Block(name, iters, guard, init, body)

    def _guard(self) -> tuple[Expr, ...]:
        cursor = self._cursor
        if not cursor.at_word("where"):
            return ()
        cursor.advance()
        found = [self._expr(BOOL)]
        while cursor.accept(","):
            found.append(self._expr(BOOL))
        self._line_end()
        return tuple(found)

    def _iter(self) -> BlockIter:
        cursor = self._cursor
        kind = self._one_of(IterKind)
        var = self._var("the axis's name")
        cursor.expect("<")
        extent = cursor.integer("the axis's extent")
        cursor.expect("=")
        return BlockIter(var, extent, kind, self._expr(INDEX))

    def _invoke(self) -> Invoke:
        cursor = self._cursor
        cursor.advance()
        token = cursor.token
        intrinsic = self._intrinsics.get(token.text)
        if token.kind is not TokenKind.NAME or intrinsic is None:
            cursor.fail(f"an intrinsic: {', '.join(self._intrinsics) or 'none is known'}")
        cursor.advance()
        regions = cursor.listed("(", ")", self._region)
        self._line_end()
        return Invoke(intrinsic, regions)

    def _region(self) -> Region:
        cursor = self._cursor
        buffer = known_buffer(cursor, self._buffers)
        axes = cursor.listed("[", "]", self._range)
        return Region(buffer, tuple(low for low, _ in axes), tuple(extent for _, extent in axes))

    def _range(self) -> tuple[Expr, int]:
        lower = self._expr(INDEX)
        self._cursor.expect(":+")
        return lower, self._cursor.integer("an extent")

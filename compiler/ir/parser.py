"""Parses programs: the inverse of `printer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeVar

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.lexer import Cursor, TokenKind
from tandem.compiler.ir.parse_expr import element, expression, known_buffer, type_named
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    If,
    Invoke,
    IterKind,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.ir.syntax import NUMBER_WORDS
from tandem.compiler.ir.visit import sequence

_NO_INTRINSICS: Final[Mapping[str, PrimFunc]] = MappingProxyType({})
_Word = TypeVar("_Word", bound=Enum)


def parse(text: str, intrinsics: Mapping[str, PrimFunc] = _NO_INTRINSICS) -> PrimFunc:
    """Return the program in a text. Checks only syntax and types; `verify` checks the rest.

    `parse(text(f))` is `f` for every legal `f`, with sequences in normal form (`visit.sequence`).

    Parameters
    ----------
    intrinsics
        The intrinsics that `invoke` may use, by name.

    Raises
    ------
    ParseError
        With the position, the token found there and the syntax expected.
    """
    parser = _Parser(text, intrinsics)
    try:
        return parser.function()
    except RecursionError as error:
        # The caller's stack is too deep for the nesting that `Cursor.deeper` allows.
        raise parser.token.error("nested too deeply for what is left of the stack") from error


class _Parser(Cursor):
    def __init__(self, text: str, intrinsics: Mapping[str, PrimFunc]) -> None:
        super().__init__(text)
        self._intrinsics = intrinsics
        self._buffers: dict[str, Buffer] = {}

    def function(self) -> PrimFunc:
        """Parse the whole text."""
        self.expect("func")
        name = self.take(TokenKind.NAME, "the function's name").text
        inputs = self.listed("(", ")", self._parameter)
        self.expect("->")
        outputs = self.listed("(", ")", self._parameter)
        body = self._body()
        if self.token.kind is not TokenKind.END:
            self.fail("the end of the text")
        return PrimFunc(name, inputs, outputs, body)

    def _parameter(self) -> Buffer:
        token = self.token
        buffer = self._buffer()
        if self._buffers.setdefault(buffer.name, buffer) != buffer:
            raise token.error(f"found another {token}, expected the one that stands before")
        return buffer

    def _buffer(self) -> Buffer:
        name = self.take(TokenKind.NAME, "a buffer's name").text
        self.expect(":")
        dtype = type_named(self.take(TokenKind.NAME, "a type"))
        shape = self.listed("[", "]", lambda: self.integer("an extent"))
        scope = Scope.GLOBAL
        if self.accept("@"):
            scope = Scope(self.take(TokenKind.NAME, "a scope's name").text)
        slots = 1
        if self.accept("in"):
            slots = self.integer("a number of slots")
            self.expect("slots")
        return Buffer(name, shape, dtype, scope, slots)

    def _one_of(self, words: type[_Word]) -> _Word:
        for word in words:
            if self.accept(word.value):
                return word
        self.fail("one of " + ", ".join(each.value for each in words))

    @contextmanager
    def _indented(self) -> Iterator[None]:
        """A context in which the indented lines after a colon are parsed."""
        self.expect(":")
        self.take(TokenKind.NEWLINE)
        self.take(TokenKind.INDENT, "a statement, indented")
        with self.deeper():
            yield
        self.take(TokenKind.DEDENT)

    def _body(self) -> Stmt:
        with self._indented():
            return self._statements()

    def _statements(self) -> Stmt:
        """Parse all statements of this indentation."""
        found = [self._statement()]
        while self.token.kind not in (TokenKind.DEDENT, TokenKind.END):
            found.append(self._statement())
        return sequence(*found)

    def _statement(self) -> Stmt:
        if self.token.kind is TokenKind.NAME and self.followed_by("["):
            return self._store()
        after_word: dict[str, Callable[[], Stmt]] = {
            "for": self._for,
            "if": self._if,
            "alloc": self._alloc,
            "block": self._block,
            "invoke": self._invoke,
            "pass": self._pass,
        }
        read = after_word.get(self.token.text)
        if read is None:
            self.fail(f"a statement: {', '.join(after_word)}, or an element to store to")
        self.advance()
        return read()

    def _expr(self, expected: DType) -> Expr:
        return expression(self, self._buffers, expected)

    def _var(self, what: str) -> Var:
        token = self.take(TokenKind.NAME, what)
        if token.text in NUMBER_WORDS:
            raise token.error(f"found {token}, expected {what}")
        return Var(token.text)

    def _for(self) -> For:
        var = self._var("the loop's variable")
        self.expect("in")
        extent = self._expr(INDEX)
        kind = LoopKind.SERIAL if self.at(":") else self._one_of(LoopKind)
        return For(var, extent, kind, self._body())

    def _if(self) -> If:
        return If(self._expr(BOOL), self._body())

    def _pass(self) -> Seq:
        self.take(TokenKind.NEWLINE)
        return Seq(())

    def _store(self) -> Store:
        buffer, indices = element(self, self._buffers)
        self.expect("=")
        value = self._expr(buffer.dtype)
        self.take(TokenKind.NEWLINE)
        return Store(buffer, indices, value)

    def _alloc(self) -> Alloc:
        buffer, outside = self._buffer(), self._buffers
        self.take(TokenKind.NEWLINE)
        if self.token.kind is TokenKind.DEDENT:
            self.fail("a statement, for which the buffer is")
        self._buffers = {**outside, buffer.name: buffer}
        with self.deeper():
            body = self._statements()
        self._buffers = outside
        return Alloc(buffer, body)

    def _block(self) -> Block:
        name = self.take(TokenKind.NAME, "the block's name").text
        iters = self.listed("(", ")", self._iter)
        with self._indented():
            guard = self._guard()
            init: Stmt | None = None
            if self.at_word("init"):
                self.advance()
                init = self._body()
            body = self._statements()
        return Block(name, iters, guard, init, body)

    def _guard(self) -> tuple[Expr, ...]:
        if not self.at_word("where"):
            return ()
        self.advance()
        found = [self._expr(BOOL)]
        while self.accept(","):
            found.append(self._expr(BOOL))
        self.take(TokenKind.NEWLINE)
        return tuple(found)

    def _iter(self) -> BlockIter:
        kind = self._one_of(IterKind)
        var = self._var("the axis's name")
        self.expect("<")
        extent = self.integer("the axis's extent")
        self.expect("=")
        return BlockIter(var, extent, kind, self._expr(INDEX))

    def _invoke(self) -> Invoke:
        intrinsic = self._intrinsics.get(self.token.text)
        if intrinsic is None:
            self.fail(f"an intrinsic: {', '.join(self._intrinsics) or 'none is known'}")
        self.advance()
        regions = self.listed("(", ")", self._region)
        self.take(TokenKind.NEWLINE)
        return Invoke(intrinsic, regions)

    def _region(self) -> Region:
        buffer = known_buffer(self, self._buffers)
        axes = self.listed("[", "]", self._range)
        return Region(buffer, tuple(low for low, _ in axes), tuple(extent for _, extent in axes))

    def _range(self) -> tuple[Expr, int]:
        lower = self._expr(INDEX)
        self.expect(":+")
        return lower, self.integer("an extent")

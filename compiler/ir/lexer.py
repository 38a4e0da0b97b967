"""Splits text into tokens, with tokens for indentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn, TypeVar

from tandem.compiler.errors import ParseError
from tandem.compiler.ir.syntax import MAX_DEPTH, NAME

_T = TypeVar("_T")


class TokenKind(Enum):
    """Kinds of tokens; the enum's value is the name in messages."""

    NAME = "a name"
    NUMBER = "a number"
    SYMBOL = "a symbol"
    NEWLINE = "the end of the line"
    INDENT = "more indentation"
    DEDENT = "less indentation"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and the line and column where it begins, from 1."""

    kind: TokenKind
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return repr(self.text) if self.text else self.kind.value

    def error(self, message: str) -> ParseError:
        """Return an error at this token."""
        return ParseError(message, self.line, self.column)


_TOKEN = re.compile(
    rf"""[ ]*(?:
      (?P<NAME>{NAME})
    | (?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])
    | (?P<SYMBOL>->|:\+|//|<<|>>|<=|>=|==|!=|[()\[\]{{}},:=@<>+\-*/%&|^~])
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"[\w.]+|[^ ]")
_LONGEST_NUMBER = 100
"""Characters. Python refuses to read integers of many digits."""


def tokens(text: str) -> list[Token]:
    """Return all tokens; the last is END. A comment goes from `#` to the end of its line."""
    found: list[Token] = []
    indents = [0]
    lines = text.split("\n")
    for number, raw in enumerate(lines, 1):
        line = raw.split("#", 1)[0].rstrip(" \r")
        if not line:
            continue
        indent = len(line) - len(line.lstrip(" "))
        if indent > indents[-1]:
            indents.append(indent)
            found.append(Token(TokenKind.INDENT, "", number, indent + 1))
        while indent < indents[-1]:
            indents.pop()
            found.append(Token(TokenKind.DEDENT, "", number, indent + 1))
        if indent != indents[-1]:
            allowed = ", ".join(map(str, indents))
            raise ParseError(f"indentation of {indent}, expected one of {allowed}", number, 1)
        found += _line(line, number)
        found.append(Token(TokenKind.NEWLINE, "", number, len(line) + 1))
    end = (len(lines), len(lines[-1]) + 1)
    found += [Token(TokenKind.DEDENT, "", *end) for _ in indents[1:]]
    return [*found, Token(TokenKind.END, "", *end)]


def _line(line: str, number: int) -> Iterator[Token]:
    position = 0
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None:
            word = _WORD.findall(line, position)[0]
            column = line.index(word, position) + 1
            raise ParseError(
                f"found {word!r}, expected a name, a number or an operator", number, column
            )
        assert match.lastgroup is not None
        word = match[match.lastgroup]
        token = Token(TokenKind[match.lastgroup], word, number, match.end() - len(word) + 1)
        if token.kind is TokenKind.NUMBER and len(word) > _LONGEST_NUMBER:
            raise token.error(f"a number of {len(word)} characters: {_LONGEST_NUMBER} are allowed")
        yield token
        position = match.end()


class Cursor:
    """A position among the tokens of a text, and its nesting depth."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._position = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    def advance(self) -> Token:
        """Consume and return the next token. END, the last token, is never passed."""
        token = self.token
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def fail(self, expected: str) -> NoReturn:
        """Raise an error: the next token is not the expected one."""
        raise self.token.error(f"found {self.token}, expected {expected}")

    def at(self, text: str) -> bool:
        """Whether the next token is this symbol or word."""
        return self.token.text == text

    def followed_by(self, *symbols: str) -> bool:
        """Whether the token after the next is one of these symbols."""
        after = self._tokens[min(self._position + 1, len(self._tokens) - 1)]
        return after.text in symbols

    def at_word(self, word: str) -> bool:
        """Whether this word comes next, and not as the name of a buffer."""
        return self.at(word) and not self.followed_by("[")

    def accept(self, text: str) -> bool:
        """Consume the symbol or word `text` if it comes next; return whether it did."""
        found = self.at(text)
        if found:
            self.advance()
        return found

    def expect(self, text: str) -> Token:
        """Consume and return the symbol or word `text`, which must come next."""
        if not self.at(text):
            self.fail(repr(text))
        return self.advance()

    def take(self, kind: TokenKind, expected: str = "") -> Token:
        """Consume a token of this kind, which must come next; `expected` is for the message."""
        if self.token.kind is not kind:
            self.fail(expected or kind.value)
        return self.advance()

    def integer(self, expected: str) -> int:
        """Consume and return an integer without sign, which must come next."""
        if not self.token.text.isdecimal():
            self.fail(expected)
        return int(self.advance().text)

    def listed(self, opening: str, closing: str, read: Callable[[], _T]) -> tuple[_T, ...]:
        """Parse a bracketed, comma-separated list of items, each parsed by `read`; may be empty."""
        self.expect(opening)
        found: list[_T] = []
        while not self.at(closing) and (not found or self.accept(",")):
            found.append(read())
        if not self.accept(closing):
            self.fail(f"',' or {closing!r}")
        return tuple(found)

    @contextmanager
    def deeper(self, levels: int = 1) -> Iterator[None]:
        """A context `levels` nesting levels deeper; ParseError beyond MAX_DEPTH."""
        if self._depth + levels > MAX_DEPTH:
            raise self.token.error(f"nested more than {MAX_DEPTH} deep")
        self._depth += levels
        yield
        self._depth -= levels

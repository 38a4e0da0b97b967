"""Tokens and indentation."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import ParseError
from tandem.compiler.ir.lexer import TokenKind, tokens


def kinds(text: str) -> list[str]:
    """Tokens as words, indentation as its names."""
    return [each.text or each.kind.name for each in tokens(text)]


def test_symbols_are_taken_as_long_as_they_are() -> None:
    assert kinds("a<=b<<c//d :+ 1->x") == [
        *("a", "<=", "b", "<<", "c", "//", "d", ":+", "1", "->", "x", "NEWLINE", "END")
    ]


def test_names_and_numbers() -> None:
    assert kinds("C.i_o 12 1.5 1e-3 2.5E+7") == [
        *("C.i_o", "12", "1.5", "1e-3", "2.5E+7", "NEWLINE", "END")
    ]
    (name, *_) = tokens("  \n\nx")
    assert (name.kind, name.line, name.column) == (TokenKind.NAME, 3, 1)


def test_indentation_comments_and_empty_lines() -> None:
    assert kinds("a\n  b # c\n\n # d\n    e\r\n  f\ng") == [
        *("a", "NEWLINE", "INDENT", "b", "NEWLINE", "INDENT", "e", "NEWLINE"),
        *("DEDENT", "f", "NEWLINE", "DEDENT", "g", "NEWLINE", "END"),
    ]
    assert kinds("a\n  b") == ["a", "NEWLINE", "INDENT", "b", "NEWLINE", "DEDENT", "END"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a ; b", 1, 3, "found ';', expected a name, a number or an operator"),
        ("a\nb  3x", 2, 4, "found '3x'"),
        ("1.", 1, 1, "found '1.'"),
        ("a\tb", 1, 2, r"found '\\t'"),
        ("ä", 1, 1, "found 'ä'"),
        ("²", 1, 1, "found '²'"),
        ("a\n    b\n  c", 3, 1, "indentation of 2, expected one of 0"),
        ("x = " + "1" * 101, 1, 5, "a number of 101 characters: 100 are allowed"),
    ],
)
def test_refusals(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        tokens(text)
    assert (caught.value.line, caught.value.column) == (line, column)

"""The text of layouts is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import ParseError
from tandem.compiler.ir.lexer import Cursor
from tandem.compiler.layouts.layout import Bytes, Layout, One, Part, Whole, in_blocks
from tandem.compiler.layouts.parse import layout


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Axes, whole or in blocks, in any order."""
    parts: list[Part] = [One()] * draw(st.integers(0, 2))
    inner: list[Part] = []
    for axis in draw(st.permutations(range(draw(st.integers(0, 4))))):
        size, zero = draw(st.integers(1, 5)), draw(st.booleans())
        first, second = in_blocks(axis, size, zero=zero)
        if draw(st.booleans()):
            parts.append(Whole(axis))
        else:
            parts.insert(draw(st.integers(0, len(parts))), first)
            inner.append(second)
    if draw(st.booleans()):
        parts.insert(0, Bytes())
    return Layout((*parts, *inner))


@given(found=layouts())
def test_text_and_back(found: Layout) -> None:
    assert layout(Cursor(str(found))) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{0, x}", "expected an axis, _ or bytes"),
        ("{0/}", "expected the size of a block"),
        ("{0/4, 0%4=1}", "expected 0: the padding"),
        ("{0, 0}", "does not store axis 0 once"),
        ("{0", "expected ',' or '}'"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        layout(Cursor(text))

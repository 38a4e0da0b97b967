"""Types from text: what they are written as is read as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import ParseError
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.parse_atoms import TypeNames, type_
from tandem.compiler.graph.types import FunctionType, GenericType, TensorType, TupleType, Type
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8
from tandem.compiler.ir.lexer import Cursor, TokenKind

OPEN = ("E", "F")
"""Names of open element types."""

EXTENTS = st.integers(0, 100) | st.builds(
    Dim, st.sampled_from((("M",), ("M", "N"), ("N", "N"))), st.integers(1, 9)
)
SHAPES = st.lists(EXTENTS, max_size=3).map(tuple)
TENSORS = st.builds(TensorType, SHAPES, st.sampled_from((BOOL, FLOAT32, INT8)))


def nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    """Tuples and functions of types."""
    several = st.lists(inner, max_size=3).map(tuple)
    return st.builds(TupleType, several) | st.builds(FunctionType, several, inner)


TYPES = st.recursive(TENSORS | st.builds(GenericType, SHAPES, st.sampled_from(OPEN)), nested)


@given(TYPES)
def test_a_type_is_read_as_it_is_written(wanted: Type) -> None:
    cursor = Cursor(str(wanted))
    assert type_(cursor, TypeNames(OPEN)) == wanted
    assert cursor.token.kind is TokenKind.NEWLINE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn(int8[]) int8[]", "line 1, column 12: found 'int8', expected '->'"),
        ("fn(int8[])", "column 11: found the end of the line, expected '->'"),
        ("fn(int8[]) ->", "found the end of the line, expected a type, as"),
        ("(int8[])", "found '[)]', expected ','"),
        ("E[2]", "found 'E', expected a type, as"),
        ("int8[-1]", "found '-', expected a symbol"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        type_(Cursor(text), TypeNames())

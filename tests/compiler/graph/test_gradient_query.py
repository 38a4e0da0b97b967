"""What rules of gradients are asked: types of gradients, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tandem.compiler.errors import GradientError
from tandem.compiler.graph import DataType, Dim, TensorType, TupleType
from tandem.compiler.graph.gradient_query import (
    GradientQuery,
    constant_gradient,
    gradient_dtype,
    gradient_of_value,
    gradient_type,
)
from tandem.compiler.graph.terms import Term, TermWriter
from tandem.compiler.graph.types import FunctionType
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT8, dtype_of

F64 = TensorType((2, Dim(("N",))), FLOAT64)
HALF = TensorType((3,), dtype_of("float16"))
WHOLE = TensorType((3,), INT8)


class Silent(TermWriter):
    """Writes nothing."""

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        raise AssertionError(f"{operator} is called")


def test_element_types() -> None:
    assert gradient_dtype(FLOAT32) == FLOAT32
    assert gradient_dtype(FLOAT64) == FLOAT64
    assert gradient_dtype(dtype_of("float16")) == FLOAT32
    assert gradient_dtype(dtype_of("bfloat16")) == FLOAT32
    assert gradient_dtype(INT8) is None
    assert gradient_dtype(BOOL) is None


def test_types() -> None:
    assert gradient_type(F64) == F64
    assert gradient_type(HALF) == TensorType((3,), FLOAT32)
    assert gradient_type(WHOLE) is None
    assert gradient_of_value(HALF) == TensorType((3,), FLOAT32)
    some = TupleType((WHOLE, F64, TupleType((WHOLE,)), TupleType((HALF, WHOLE)), TupleType(())))
    assert str(gradient_of_value(some)) == "(float64[2, N], (float32[3],))"
    for type_ in (
        WHOLE,
        TupleType(()),
        TupleType((WHOLE, TupleType((WHOLE,)))),
        FunctionType((F64,), F64),
        DataType("A"),
    ):
        assert gradient_of_value(type_) is None


def test_a_query() -> None:
    x, w, y, dy = (Term(name, F64, Silent()) for name in "xwyd")
    query = GradientQuery("f", "y", "conv", ("data", "w"), (x, w), (y,), (dy,), (True, False))
    assert query.data is x
    assert query.result is y
    assert query.gradient is dy
    assert constant_gradient(query, None) == [None, None]
    several = GradientQuery("f", "y", "split", ("data",), (x,), (y, y), (dy, None), (True,))
    with pytest.raises(ValueError, match="too many values"):
        assert several.gradient is dy
    with pytest.raises(ValueError, match="too many values"):
        assert several.result is y
    message = (
        r"^function f: y = conv\(data float64\[2, N\], w float64\[2, N\]\) has no gradient: why$"
    )
    with pytest.raises(GradientError, match=message):
        query.fail("why")

"""Python's arithmetic on terms: the operators that are written, their operands in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.terms import Term, TermWriter, apply, apply_several, where
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT8


class Written(TermWriter):
    """Keeps what is written; each operator has one result."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        shown = [
            (str(operand.value.array.dtype), operand.value.array.tolist())
            if isinstance(operand.value, Constant)
            else operand.value
            for operand in operands
        ]
        self.calls.append((operator, *shown, *attributes.items()))
        return (Term("made", operands[0].type, self),)


def terms() -> tuple[Written, Term, Term]:
    writer = Written()
    type_ = TensorType((2,), FLOAT32)
    return writer, Term("a", type_, writer), Term("b", type_, writer)


HALF = ("float32", 0.5)


@pytest.mark.parametrize(
    ("compute", "call"),
    [
        (lambda a, b: a + b, ("add", "a", "b")),
        (lambda a, b: a + 0.5, ("add", "a", HALF)),
        (lambda a, b: 0.5 + a, ("add", HALF, "a")),
        (lambda a, b: a - b, ("subtract", "a", "b")),
        (lambda a, b: a - 0.5, ("subtract", "a", HALF)),
        (lambda a, b: 0.5 - a, ("subtract", HALF, "a")),
        (lambda a, b: a * b, ("multiply", "a", "b")),
        (lambda a, b: 0.5 * a, ("multiply", HALF, "a")),
        (lambda a, b: a / b, ("divide", "a", "b")),
        (lambda a, b: 0.5 / a, ("divide", HALF, "a")),
        (lambda a, b: -a, ("negative", "a")),
        (lambda a, b: apply("clip", a, min=1.0), ("clip", "a", ("min", 1.0))),
        (lambda a, b: where(a, b, 0.5), ("where", "a", "b", HALF)),
        (lambda a, b: where(a, 0.5, b), ("where", "a", HALF, "b")),
        (lambda a, b: a.with_dtype(INT8), ("cast", "a", ("to", INT8))),
    ],
)
def test_arithmetic(compute: Callable[[Term, Term], Term], call: tuple[Any, ...]) -> None:
    writer, a, b = terms()
    assert compute(a, b).value == "made"
    assert writer.calls == [call]


def test_constants_have_the_type_of_the_term() -> None:
    writer = Written()
    wide = Term("w", TensorType((3,), FLOAT64), writer)
    assert wide.scalar(2).type == TensorType((), FLOAT64)
    assert wide.with_dtype(FLOAT64) is wide
    constant = wide.constant(np.array([True, False]))
    assert (constant.type, constant.writer) == (TensorType((2,), BOOL), writer)
    assert where(constant, wide, 1).value == "made"
    assert writer.calls == [("where", ("bool", [True, False]), "w", ("float64", 1.0))]


def test_several_results() -> None:
    class Two(Written):
        def call(
            self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
        ) -> tuple[Term, ...]:
            return (*super().call(operator, operands, attributes),) * 2

    writer = Two()
    term = Term("a", TensorType((2,), FLOAT32), writer)
    assert [each.value for each in apply_several("split", term, sizes=(1, 1))] == ["made"] * 2
    with pytest.raises(ValueError, match="too many values"):
        apply("split", term)

"""Gradients of tuples: sums, zeros, and their flat form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tandem.compiler.graph import DataType, TensorType, TupleType
from tandem.compiler.graph.gradients.cotangents import (
    DataTerm,
    added,
    flat,
    is_zero,
    mapped,
    nested,
)
from tandem.compiler.graph.terms import Term, TermWriter
from tandem.compiler.ir.dtypes import FLOAT32, INT8

F, WHOLE = TensorType((2,), FLOAT32), TensorType((), INT8)


class Adding(TermWriter):
    """Writes sums as names."""

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        assert operator == "add"
        left, right = (each.value for each in operands)
        return (Term(f"({left}+{right})", F, self),)


def term(name: str) -> Term:
    return Term(name, F, Adding())


def data(name: str) -> DataTerm:
    return DataTerm(name, DataType("A"), lambda one, two: data(f"[{one.value}+{two.value}]"))


def shown(gradient: Any) -> Any:
    """Names in place of terms."""
    if isinstance(gradient, tuple | list):
        return tuple(shown(each) for each in gradient)
    return None if gradient is None else gradient.value


def test_sums() -> None:
    a, b = term("a"), term("b")
    assert added(None, None) is None
    assert added(a, None) is a
    assert added(None, b) is b
    assert shown(added(a, b)) == "(a+b)"
    assert shown(added(data("p"), data("q"))) == "[p+q]"
    assert shown(added((a, None, (b,)), (b, a, (None,)))) == ("(a+b)", "a", ("b",))
    assert shown(added((a,), None)) == ("a",)
    with pytest.raises(ValueError, match="zip"):
        added((a,), (a, b))


def test_zeros() -> None:
    assert is_zero(None)
    assert is_zero(())
    assert is_zero((None, (None,)))
    assert not is_zero(term("a"))
    assert not is_zero((None, (term("a"),)))
    assert not is_zero(data("p"))


def test_changes() -> None:
    assert mapped(None, lambda leaf: leaf) is None
    found = mapped((term("a"), None, (data("p"),)), lambda leaf: term(f"{leaf.value}!"))
    assert shown(found) == ("a!", None, ("p!",))


def test_flat_and_nested() -> None:
    type_ = TupleType((F, WHOLE, TupleType((WHOLE, F)), TupleType(())))
    gradient = (term("a"), None, (None, term("b")), ())
    leaves = flat(gradient, type_)
    assert shown(leaves) == ("a", "b")
    assert shown(nested(leaves, type_)) == ("a", None, (None, "b"), ())
    # None is zero everywhere.
    assert flat(None, type_) == [None, None]
    assert flat((None, None, (None, term("b")), None), type_)[0] is None
    assert flat(None, WHOLE) == []
    assert flat(term("a"), F)[0] is not None
    assert nested([], WHOLE) is None
    assert nested([None], F) is None
    with pytest.raises(AssertionError, match="one for each float"):
        nested([term("a"), term("b")], F)

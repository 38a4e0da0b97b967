"""Shapes of gradients: sums over what was broadcast, and its inverse, in values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Dim, TensorType
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.gradients import shaping
from tandem.compiler.graph.terms import Term, TermWriter
from tandem.compiler.ir.dtypes import FLOAT64
from tests.support.compiler.graph.calls import Computed, array_of
from tests.support.compiler.operators.operators import Array


class Typed(TermWriter):
    """Infers the types of what is written, with symbols. Keeps calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        self.calls.append((operator, dict(attributes)))
        spec = OPERATORS[operator]
        type_ = spec.result("t", [each.type for each in operands], spec.attributes(**attributes))
        assert isinstance(type_, TensorType)
        return (Term("t", type_, self),)


def check(work: Callable[[Term], Term], array: Array, wanted: Array, *names: str) -> None:
    """Assert what is computed, and by which operators."""
    writer = Computed()
    found = work(writer.constant(np.asarray(array, np.float64)))
    np.testing.assert_array_equal(array_of(found), wanted)
    assert found.type == TensorType(np.asarray(wanted).shape, FLOAT64)
    assert writer.names == [*names]


X = np.arange(24.0).reshape(2, 3, 4)


def of(*shape: int) -> TensorType:
    return TensorType(shape, FLOAT64)


def test_sums_over_what_was_broadcast() -> None:
    check(lambda x: shaping.summed_to(x, of(2, 3, 4)), X, X)
    check(lambda x: shaping.summed_to(x, of(3, 4)), X, X.sum(0), "reduce_sum")
    check(lambda x: shaping.summed_to(x, of()), X, X.sum(), "reduce_sum")
    check(lambda x: shaping.summed_to(x, of(2, 1, 4)), X, X.sum(1, keepdims=True), "reduce_sum")
    both = X.sum((0, 1))[None]
    check(lambda x: shaping.summed_to(x, of(1, 4)), X, both, "reduce_sum", "reduce_sum")
    check(lambda x: shaping.summed_to(x, of(1, 4)), np.ones((1, 4)), np.ones((1, 4)))


def test_broadcasting() -> None:
    row = np.arange(4.0)
    check(lambda x: shaping.broadcast_to(x, x), row, row)
    whole = lambda x: shaping.broadcast_to(x, x.constant(np.zeros((2, 4))))  # noqa: E731
    check(whole, row, np.tile(row, (2, 1)), "expand")
    check(shaping.zeros_like, row, np.zeros(4), "expand")


def test_shapes() -> None:
    check(lambda x: shaping.reshaped(x, (2, 3, 4)), X, X)
    check(lambda x: shaping.reshaped(x, [6, 4]), X, X.reshape(6, 4), "reshape")
    check(lambda x: shaping.reshaped(x, (0, 7)), np.ones((3, 0)), np.ones((0, 7)), "reshape")
    check(lambda x: shaping.kept(x, 3, (0, 2), True), X, X)
    check(lambda x: shaping.kept(x, 5, (0, 2), False), X, X[None, :, None], "unsqueeze")
    check(lambda x: shaping.kept(x, 3, (), False), X, X)
    assert shaping.reduced_axes(3, None) == (0, 1, 2)
    assert shaping.reduced_axes(3, (-1, 0)) == (0, 2)
    assert shaping.reduced_axes(3, ()) == ()


def test_counts_and_totals() -> None:
    check(lambda x: shaping.count_along(x, (0, 2)), X, np.array(8.0))
    check(lambda x: shaping.count_along(x, ()), X, np.array(1.0))
    check(lambda x: shaping.total(x, ()), X, X)
    check(lambda x: shaping.total(x, (1,)), X, X.sum(1, keepdims=True), "reduce_sum")
    check(lambda x: shaping.total(x, [1], keepdims=False), X, X.sum(1), "reduce_sum")
    check(lambda x: shaping.mean(x, (0,)), X, X.mean(0, keepdims=True), "reduce_mean")
    check(lambda x: shaping.mean(x, ()), X, X)


def test_orders() -> None:
    check(lambda x: shaping.moved(x, 0, 2), X, np.moveaxis(X, 0, 2), "transpose")
    check(lambda x: shaping.moved(x, 2, 0), X, np.moveaxis(X, 2, 0), "transpose")
    check(lambda x: shaping.moved(x, 1, 1), X, X)
    check(lambda x: shaping.transposed(x, (1, 0, 2)), X, X.transpose(1, 0, 2), "transpose")
    check(lambda x: shaping.transposed(x, [0, 1, 2]), X, X)


def test_slices() -> None:
    check(lambda x: shaping.sliced(x, 1, 0, 3), X, X)
    check(lambda x: shaping.sliced(x, 1, 0, 2), X, X[:, :2], "slice")
    check(lambda x: shaping.sliced(x, 2, 1, 4), X, X[..., 1:], "slice")
    check(lambda x: shaping.sliced(x, 2, 0, 4, 2), X, X[..., ::2], "slice")
    check(lambda x: shaping.flipped(x, (0, 2)), X, X[::-1, :, ::-1], "slice")
    check(lambda x: shaping.flipped(x, ()), X, X)
    check(lambda x: shaping.flipped(x, (0,)), X[:1], X[:1])
    check(lambda x: shaping.flipped(x, (0, 1)), X[:1], X[:1, ::-1], "slice")


def test_zeros_between_and_around() -> None:
    names = ("reshape", "pad", "reshape", "slice")
    apart = np.zeros((3, 3, 10))
    apart[::2, :, ::3] = X
    check(lambda x: shaping.stretched(x, (2, 1, 3)), X, apart, *names)
    check(lambda x: shaping.stretched(x, (1, 1, 1)), X, X)
    check(lambda x: shaping.stretched(x, (5,)), np.ones(1), np.ones(1))
    check(lambda x: shaping.stretched(x, (5, 2)), np.ones((0, 2)), np.ones((0, 3)), *names)
    check(lambda x: shaping.padded(x, (0,), (0,)), np.ones(2), np.ones(2))
    check(lambda x: shaping.padded(x, (1,), (-1,)), np.ones(3), np.array([0.0, 1, 1]), "pad")


N, M = Dim(("N",)), Dim(("M",))


def symbolic(*shape: int | Dim) -> tuple[Typed, Term]:
    writer = Typed()
    return writer, Term("x", TensorType(shape, FLOAT64), writer)


def test_symbols() -> None:
    writer, x = symbolic(N, 4)
    assert shaping.reshaped(x, (2, N, 2)).type.shape == (2, N, 2)
    assert writer.calls == [("reshape", {"shape": (2, -1, 2)})]
    with pytest.raises(GraphError, match="the shape of a gradient"):
        shaping.reshaped(x, (N, M))
    writer, x = symbolic(N, 4)
    found = shaping.broadcast_to(x.scalar(1), x)
    assert found.type == x.type
    assert [name for name, _ in writer.calls] == ["less", "where"]
    writer, x = symbolic(N, 4)
    assert shaping.count_along(x, (0,)).type.shape == (1, 4)
    assert [name for name, _ in writer.calls] == ["less", "where", "reduce_sum"]
    writer, x = symbolic(N, 4)
    assert shaping.count_along(x, (1,)).type.shape == ()
    assert writer.calls == []

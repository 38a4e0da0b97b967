"""Heads of attention, against NumPy's reshapes and products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.heads import (
    LATER,
    columns_of,
    heads_of,
    joined,
    scores_of,
    seen,
    tokens_of,
)
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Tuple
from tandem.compiler.graph.types import TupleType

DATA = np.arange(2 * 3 * 8, dtype=np.float32).reshape(2, 3, 8)
HEADS = np.random.default_rng(2).standard_normal((2, 4, 3, 5)).astype(np.float32)
OTHERS = np.random.default_rng(3).standard_normal((2, 4, 6, 5)).astype(np.float32)


def node(**attributes: Any) -> Node:
    """A node that has a scale."""
    proto = helper.make_node("Attention", [], ["y"], "n", **attributes)
    definition = standard("Attention", 23, "")
    assert definition is not None
    return Node(proto, definition, [], frozenset(), Builder(set()))


def arrays(made: Node, *found: Value) -> list[Array]:
    """What values are: products of matrices are left to the graph."""
    items = tuple(made.builder.atom(each) for each in found)
    type_ = TupleType(tuple(each.type for each in found))
    whole = made.builder.bind(Tuple(items), type_)
    function = Function("f", (), made.builder.body("it", whole))
    return [np.asarray(each) for each in evaluate(function, [])]


def equal(made: Node, found: Value | Sequence[Value], *wanted: Array) -> None:
    several = [found] if isinstance(found, Value) else found
    for one, other in zip(arrays(made, *several), wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def test_tokens_and_heads() -> None:
    made = node()
    whole = heads_of(made, constant(DATA), 4)
    parts = np.stack([DATA[:, :, at : at + 2] for at in (0, 2, 4, 6)], 1)
    alone = heads_of(made, constant(DATA), 1)
    equal(made, [whole, tokens_of(made, whole), alone], parts, DATA, DATA[:, None])


@pytest.mark.parametrize("heads", [0, -1, 3, 16])
def test_heads_of_other_features_are_refused(heads: int) -> None:
    with pytest.raises(FrontendError, match=rf"{heads} heads of float32\[2, 3, 8\]"):
        heads_of(node(), constant(DATA), heads)


@pytest.mark.parametrize("data", [DATA[0], DATA[None]])
def test_other_ranks_are_refused(data: Array) -> None:
    with pytest.raises(FrontendError, match=r"float32\[.*\] holds no tokens of a batch"):
        heads_of(node(), constant(data), 2)


@pytest.mark.parametrize(
    ("attributes", "scale"), [({}, 5**-0.5), ({"scale": 0.3}, 0.3), ({"scale": 0.0}, 5**-0.5)]
)
def test_scores(attributes: dict[str, float], scale: float) -> None:
    made = node(**attributes)
    found = scores_of(made, constant(HEADS), constant(OTHERS))
    equal(made, found, HEADS @ OTHERS.swapaxes(2, 3) * np.float32(scale))


def test_what_is_seen() -> None:
    weights = HEADS @ OTHERS.swapaxes(2, 3)
    made = node()
    found = seen(made, constant(weights), constant(OTHERS))
    equal(made, found, (weights @ OTHERS).swapaxes(1, 2).reshape(2, 3, 20))
    assert LATER < -3e38


def test_earlier_tokens() -> None:
    own, made = constant(HEADS), node()
    assert joined(made, None, own) is own
    equal(made, joined(made, constant(OTHERS), own), np.concatenate([OTHERS, HEADS], 2))


@pytest.mark.parametrize("shape", [(2, 4, 15), (1, 4, 6, 5), (2, 3, 6, 5), (2, 4, 6, 4)])
def test_another_past_is_refused(shape: tuple[int, ...]) -> None:
    past = constant(np.zeros(shape, np.float32))
    with pytest.raises(FrontendError, match=r"the past is float32\[.*, of float32\[2, 4, 3, 5\]"):
        joined(node(), past, constant(HEADS))


def test_columns() -> None:
    made, row = node(), DATA[0, 0]
    found = columns_of(made, constant(DATA[0]), (1, 4, 3))
    equal(made, found, DATA[0, :, :1], DATA[0, :, 1:5], DATA[0, :, 5:])
    other = node()
    equal(other, columns_of(other, constant(row), (6, 2)), row[:6], row[6:])

"""Sums of rows at positions, by a product with zeros and ones and by a scatter."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.operators.gradients import indexing
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.graph.graphs import graph

PROGRAM = """
func @f(x: float64[5, 2]) -> float64[]:
  y = gather(x, int64[3](4, 0, 4))
  z = reduce_sum(y, keepdims=False)
  return z
"""


def test_a_product_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    # 3 indices of 5 rows.
    monkeypatch.setattr(indexing, "MOST_ONE_HOT", 15)
    assert "one_hot" in text(value_and_grad(graph(PROGRAM)))
    monkeypatch.setattr(indexing, "MOST_ONE_HOT", 14)
    found = text(value_and_grad(graph(PROGRAM)))
    assert "one_hot" not in found
    assert "scatter_nd" in found


@pytest.mark.parametrize("most", [0, 1 << 24])
@pytest.mark.parametrize("axis", [0, 1])
def test_both_add(monkeypatch: pytest.MonkeyPatch, most: int, axis: int) -> None:
    monkeypatch.setattr(indexing, "MOST_ONE_HOT", most)
    x = np.zeros((5, 2)) if axis == 0 else np.zeros((2, 5))
    call = f"gather(x, int32[4](4, -5, 4, 9), axis={axis})"
    (found,) = gradients(f"x: float64{list(x.shape)}", call, x)
    if axis == 0:
        # Rows of weights 1 2, 3 4, 5 6, 7 8; the last is out of range: the nearest has it.
        assert found.tolist() == [[3, 4], [0, 0], [0, 0], [0, 0], [1 + 5 + 7, 2 + 6 + 8]]
    else:
        assert found.tolist() == [[2, 0, 0, 0, 1 + 3 + 4], [6, 0, 0, 0, 5 + 7 + 8]]


def test_nothing_is_added() -> None:
    (found,) = gradients("x: float64[2, 3]", "gather(x, int64[0]())", np.zeros((2, 3)))
    assert found.tolist() == [[0, 0, 0], [0, 0, 0]]

"""Scales of a product's operands move behind the product."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.quantise.scaled_products import ScaleProducts
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

ATTENTION = """
func @f(a: float32[2, 3, 4], b: float32[2, 4, 5]) -> float32[2, 3, 5]:
  q = multiply({left})
  k = divide(b, {right})
  s = matmul(q, k)
  return s
"""


def scaled(program: str) -> str:
    function = graph(program)
    keeps_meaning(ScaleProducts(), function, inputs(function))
    found = transform(function, (ScaleProducts(), EliminateDead()))
    return text(found).split(":\n", 1)[1]


def test_factors_of_both_operands() -> None:
    found = scaled(ATTENTION.format(left="a, float32[](0.5)", right="float32[1](4.0)"))
    assert found == (
        "  s_unscaled = matmul(a, b)\n  s = multiply(s_unscaled, float32[](0.125))\n  return s\n"
    )


def test_a_factor_on_the_left() -> None:
    found = scaled(ATTENTION.format(left="float32[1, 1](2.0), a", right="float32[](8.0)"))
    assert "multiply(s_unscaled, float32[](0.25))" in found


@pytest.mark.parametrize("left", ["a, float32[4](1.0, 2.0, 3.0, 4.0)", "a, a", "a, float32[](0.0)"])
def test_other_factors_stay(left: str) -> None:
    found = scaled(ATTENTION.format(left=left, right="float32[](1.0)"))
    assert "matmul(q, b)" in found or "matmul(q, k)" in found
    assert "q = multiply" in found


def test_a_factor_that_adds_axes_stays() -> None:
    found = scaled(
        "func @f(a: float32[3, 4], b: float32[4, 5]) -> float32[1, 3, 5]:\n"
        "  q = multiply(a, float32[1, 1, 1](2.0))\n"
        "  s = matmul(q, b)\n"
        "  return s\n"
    )
    assert "matmul(q, b)" in found

"""How long operators take on a vector."""

from __future__ import annotations

import pytest

from tandem.compiler.graph import Call
from tandem.compiler.graph.passes.chain_length import chain_length
from tandem.compiler.graph.verify import verify
from tests.support.compiler.graph.graphs import graph


@pytest.mark.parametrize(
    ("operator", "length"),
    [
        ("relu(b)", 1),
        ("clip(b, min=-3, max=7)", 2),
        ("add(f, f)", 1),
        ("divide(f, float32[](3.0))", 4),
        # A cast of 8 bits, subtraction, a cast, a product: of the scale and zero nothing.
        ("dequantise(b, float32[](0.5), int8[](3))", 4),
        ("exp(f)", 16),
        ("sin(f)", 16),
        ("sqrt(f)", 4),
        ("floor(f)", 1),
        # A negation, a function, an addition, a division.
        ("sigmoid(f)", 22),
        # Twice as many vectors: a cast there, product, sum, shift, two limits, a cast back.
        ("requantise(i, int32[](5), int64[](7), shift=3, low=-128, high=127)", 14),
        ("multiply(float32[](2.0), float32[](3.0))", 0),
    ],
)
def test_lengths(operator: str, length: int) -> None:
    function = graph(
        f"func @f(b: int8[2], f: float32[2], i: int32[2]):\n  r = {operator}\n  return r"
    )
    call = function.body.lets[0].value
    assert isinstance(call, Call)
    assert chain_length(call, verify(function)) == length


def test_extents_need_not_be_known() -> None:
    function = graph("func @f(x: float32[n, 3]):\n  r = tanh(x)\n  return r")
    call = function.body.lets[0].value
    assert isinstance(call, Call)
    assert chain_length(call, verify(function)) == 16

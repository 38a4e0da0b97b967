"""Networks that take and give integers: which ports can, and that the rest stays as it was."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.printer import text
from tandem.compiler.quantise.integer_ports import integer_ports
from tandem.runtime.artifact import AxisScale, Scale
from tests.support.compiler.graph.graphs import graph

STEP, ZERO = "float32[](0.5)", "int8[](3)"


def test_both_ends() -> None:
    """Of which the second has a scale for each channel."""
    found = integer_ports(
        graph(f"""
func @f(x: float32[1, 2, 4]):
  q = quantise(x, {STEP}, {ZERO})
  y = maximum(q, q)
  r = dequantise(y, float32[2](0.25, 0.5), int8[2](0, 1))
  return r
""")
    )
    assert text(found.function).splitlines()[0] == "func @f(x: int8[1, 2, 4]):"
    assert "quantise" not in text(found.function)
    assert found.inputs == (Scale(0.5, 3),)
    assert found.results == (AxisScale(1, (0.25, 0.5), (0, 1)),)


def test_an_unsigned_input() -> None:
    program = f"""
func @f(x: float32[4]):
  q = quantise(x, {STEP}, uint8[](128), to=uint8)
  y = dequantise(q, {STEP}, uint8[](128))
  z = negative(y)
  return z
"""
    found = integer_ports(graph(program))
    assert str(found.function.params[0].type) == "uint8[4]"
    assert found.results == (None,)


def test_several_ports() -> None:
    """What several read as the same integers is one port; what real numbers are read of stays."""
    found = integer_ports(
        graph(f"""
func @f(a: float32[4], b: float32[4], c: float32[4]):
  p = quantise(a, {STEP}, {ZERO})
  q = quantise(a, {STEP}, {ZERO})
  r = quantise(b, {STEP}, {ZERO})
  s = quantise(c, {STEP}, {ZERO})
  t = negative(c)
  u = maximum(p, r)
  v = maximum(q, s)
  x = dequantise(u, {STEP}, {ZERO})
  y = dequantise(v, float32[](0.125), {ZERO})
  all = (x, t, y)
  return all
""")
    )
    assert [str(param.type) for param in found.function.params] == [
        "int8[4]",
        "int8[4]",
        "float32[4]",
    ]
    assert found.inputs == (Scale(0.5, 3), Scale(0.5, 3), None)
    assert found.results == (Scale(0.5, 3), None, Scale(0.125, 3))


def test_two_scales_of_one_input() -> None:
    with pytest.raises(QuantisationError, match=r"x is float32\[4\], read by quantise, quantise"):
        integer_ports(
            graph(f"""
func @f(x: float32[4]):
  p = quantise(x, {STEP}, {ZERO})
  q = quantise(x, float32[](0.25), {ZERO})
  y = maximum(p, q)
  return y
""")
        )


def test_nothing_to_take_away() -> None:
    program = "func @f(x: float32[4]):\n  y = negative(x)\n  return y\n"
    with pytest.raises(QuantisationError) as refused:
        integer_ports(graph(program))
    assert str(refused.value) == (
        "no port can be an integer: x is float32[4], read by negative; y is computed by negative"
    )

"""Inputs that callers keep: their scales, and what is written in place."""

from __future__ import annotations

import pytest

from tandem.compiler.driver.resident_inputs import changed_inputs, scales_of
from tandem.compiler.graph.passes import Fuse
from tandem.runtime.artifact import InPlace, Scale
from tests.support.compiler.graph.graphs import graph

HEAD = "func @f(x: int8[4, 2], r: int8[1, 2]) -> "
PUT = "put_rows(x, r, row_steps=[1, 0], element_steps=[0, 1], first=3)"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"int8[4, 2]:\n  y = {PUT}\n  z = relu(y)\n  return z", {"y": InPlace("x")}),
        # Read by something else, too: before, afterwards, as a result.
        (f"int8[4, 2]:\n  a = relu(x)\n  y = {PUT}\n  z = add(a, y)\n  return z", {}),
        (f"int8[4, 2]:\n  y = {PUT}\n  z = add(x, y)\n  return z", {}),
        (f"(int8[4, 2], int8[4, 2]):\n  y = {PUT}\n  z = (y, x)\n  return z", {}),
        # No input, and no rows.
        (f"int8[4, 2]:\n  a = relu(x)\n  y = {PUT.replace('(x', '(a')}\n  return y", {}),
        ("int8[4, 2]:\n  y = relu(x)\n  return y", {}),
    ],
)
def test_what_is_written_in_place(body: str, found: dict[str, InPlace]) -> None:
    assert changed_inputs(Fuse().apply(graph(HEAD + body))) == found


def test_scales() -> None:
    function = graph(
        "func @f(x: float32[2], y: float32[2], z: float32[2]) -> int8[2]:\n"
        "  a = quantise(x, float32[](0.5), int8[](3))\n"
        "  b = quantise(y, float32[](0.25), int8[](0))\n"
        "  c = quantise(z, float32[](2), int8[](0))\n"
        "  d = add(a, b)\n  e = add(d, c)\n  return e\n"
    )
    assert scales_of(function, ["x", "y"]) == {"x": Scale(0.5, 3), "y": Scale(0.25)}

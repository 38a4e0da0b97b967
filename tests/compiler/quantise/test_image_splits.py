"""Splits of an image's channels are slices."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.quantise.image_splits import SliceImages
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning


def operators(shape: str, axis: int, result: str) -> list[str]:
    """The operators after the pass, which keeps the meaning, of the third of three parts."""
    function = graph(
        f"func @f(x: float32{shape}) -> float32{result}:\n"
        f"  s = split(x, sizes=[1, 3, 2], axis={axis})\n"
        "  b = s[2]\n  y = relu(b)\n  return y\n"
    )
    keeps_meaning(SliceImages(), function, inputs(function))
    found = text(transform(function, (SliceImages(), EliminateDead())))
    return [line.split(" = ")[1].split("(")[0] for line in found.splitlines() if " = " in line]


@pytest.mark.parametrize("axis", [1, -3])
def test_channels_of_images(axis: int) -> None:
    assert operators("[2, 6, 3, 3]", axis, "[2, 2, 3, 3]") == ["slice", "relu"]


@pytest.mark.parametrize(
    ("shape", "axis", "result"),
    [("[2, 3, 6, 3]", 2, "[2, 3, 2, 3]"), ("[2, 6, 3]", 1, "[2, 2, 3]")],
)
def test_others_stay(shape: str, axis: int, result: str) -> None:
    assert operators(shape, axis, result)[0] == "split"

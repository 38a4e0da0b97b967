"""Factors and addends of channels become one normalisation."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.passes import EliminateDead, FoldNormalisation, transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.quantise.fold_affine import FoldAffine
from tests.support.compiler.graph.graphs import agree
from tests.support.compiler.quantise.networks import called, network

PARAMS = (
    "x: float32[2, 4, 3, 3], w: float32[5, 4, 3, 3], b: float32[5], variance: float32[5], "
    "c: float32[5, 1, 1], d: float32[1], v: float32[4], e: float32[4, 3, 3]"
)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (
            [
                *("a = conv2d(x, w)", "n = batch_norm(a, b, b, b, variance)"),
                *("m = multiply(c, n)", "y = add(m, c)"),
            ],
            ["conv2d"],
        ),
        (["a = conv2d(x, w, b)", "y = multiply(a, d)"], ["conv2d"]),
        (["m = multiply(x, d)", "y = add(m, d)"], ["batch_norm"]),
        # One step alone, away from a layer, is as good as it was.
        (["y = multiply(x, d)"], ["multiply"]),
        # What is used twice has to be there.
        (["m = multiply(x, d)", "n = add(m, d)", "y = add(n, m)"], ["multiply", "add", "add"]),
        (
            ["a = conv2d(x, w)", "m = multiply(a, c)", "y = add(a, m)"],
            ["conv2d", "multiply", "add"],
        ),
        # Not a number for each channel.
        (["m = multiply(x, e)", "y = add(m, e)"], ["multiply", "add"]),
        (["m = multiply(x, x)", "y = add(m, d)"], ["multiply", "add"]),
    ],
)
def test_folds(lines: list[str], wanted: list[str]) -> None:
    text = "\n".join([f"func @f({PARAMS}):", *(f"  {each}" for each in lines), "  return y"])
    start = network(text)
    found = transform(start, (FoldAffine(), EliminateDead(), FoldNormalisation(), EliminateDead()))
    assert called(found) == wanted
    agree(start, found, 1e-4)


def test_in_branches() -> None:
    """Chains within a branch fold, those that begin before it too."""
    start = network(
        f"""
func @f({PARAMS}, xp: bool[]):
  k = multiply(x, d)
  y = if xp:
    a = conv2d(x, w)
    m = multiply(a, c)
    n = add(m, c)
    yield n
  else:
    s = add(k, d)
    u = conv2d(s, w)
    yield u
  return y
"""
    )
    found = transform(start, (FoldAffine(), EliminateDead(), FoldNormalisation(), EliminateDead()))
    values = [let.value for let in all_lets(found.body) if isinstance(let.value, Call)]
    assert [each.callee.name for each in values] == ["conv2d", "batch_norm", "conv2d"]
    agree(start, found, 1e-4)


@pytest.mark.parametrize(
    "params",
    [
        "x: int32[2, 4], d: int32[1]",
        "x: float64[2, 4], d: float64[1]",
        "x: float32[4], d: float32[1]",
        "x: float32[], d: float32[]",
        "x: float32[2, N], d: float32[1]",
    ],
)
def test_what_has_no_known_channels_in_float32_stays(params: str) -> None:
    lines = ["m = multiply(x, d)", "y = add(m, d)", "return y"]
    start = network("\n".join([f"func @f({params}):", *(f"  {each}" for each in lines)]))
    found = transform(start, (FoldAffine(), EliminateDead()))
    assert found == start
    taken = "x: float32[2, 4], d: float32[1]"
    whole = network("\n".join([f"func @f({taken}):", *(f"  {each}" for each in lines)]))
    assert called(transform(whole, (FoldAffine(), EliminateDead()))) == ["batch_norm"]

"""Scales that sums and what clips them share."""

from __future__ import annotations

import pytest

from tandem.compiler.quantise.clipped_sums import with_common_scales
from tandem.compiler.quantise.forms import Scale
from tests.support.compiler.quantise.networks import network

PARAMS = "x: float32[1, 4, 5, 5], w: float32[4, 4, 1, 1], b: float32[4, 1, 1]"

CASES = {
    "both are read": (
        "c = conv2d(x, w); r = relu(c); y = add(c, r)",
        {"c": 0.05, "r": 0.06},
        {"c": 0.06, "r": 0.06},
    ),
    "two clips are read": (
        "c = conv2d(x, w); r = relu(c); k = clip(r, max=1.0); y = add(r, k)",
        {"c": 0.2, "r": 0.06, "k": 0.02},
        {"c": 0.2, "r": 0.06, "k": 0.06},
    ),
    "a clip to a small part": (
        "c = conv2d(x, w); k = clip(c, max=0.1); r = relu(c); s = add(c, k); y = add(s, r)",
        {"c": 0.05, "k": 0.01, "r": 0.06},
        {"c": 0.06, "k": 0.01, "r": 0.06},
    ),
    "only the relu is read": (
        "c = conv2d(x, w); r = relu(c); y = conv2d(r, w)",
        {"c": 0.05, "r": 0.06},
        {"c": 0.05, "r": 0.06},
    ),
    "after a bias and a residual": (
        "c = conv2d(x, w); d = add(c, b); a = add(x, d); r = relu(a); y = add(a, r)",
        {"c": 0.01, "d": 0.02, "a": 0.05, "r": 0.06},
        {"c": 0.01, "d": 0.02, "a": 0.06, "r": 0.06},
    ),
    "a sum of two tensors": (
        "m = max_pool(x, kernel=[1, 1]); a = add(m, x); r = relu(a); y = add(a, r)",
        {"a": 0.05, "r": 0.06},
        {"a": 0.05, "r": 0.06},
    ),
    "sums that a relu reads, and an addition": (
        "c = conv2d(x, w); a = add(c, x); r = relu(c); k = relu(a); y = add(r, k)",
        {"c": 0.05, "a": 0.01, "r": 0.06, "k": 0.02},
        {"c": 0.06, "a": 0.01, "r": 0.06, "k": 0.02},
    ),
    "no scale for one of them": (
        "c = conv2d(x, w); r = relu(c); y = add(c, r)",
        {"r": 0.06},
        {"r": 0.06},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    lines, chosen, wanted = CASES[case]
    text = "".join(f"  {line}\n" for line in lines.split("; "))
    function = network(f"func @f({PARAMS}):\n{text}  return y\n")
    found = with_common_scales(function, {name: Scale(step) for name, step in chosen.items()})
    assert {name: scale.step for name, scale in found.items()} == wanted


def test_what_is_all_zeros_has_no_say() -> None:
    """As a ReLU of sums that are negative: with its scale of 1 the sums would be zeros, too."""
    function = network(
        f"func @f({PARAMS}):\n  c = conv2d(x, w)\n  r = relu(c)\n  y = add(c, r)\n  return y\n"
    )
    chosen = {"c": Scale(0.05), "r": Scale(1.0, of_zeros=True)}
    assert with_common_scales(function, chosen) == {"c": Scale(0.05), "r": Scale(0.05)}
    nothing = {name: Scale(1.0, of_zeros=True) for name in "cr"}
    assert with_common_scales(function, nothing) == nothing

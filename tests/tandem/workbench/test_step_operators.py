"""Operators of steps in a few words."""

from __future__ import annotations

import pytest

from tandem.workbench.step_operators import short_names


@pytest.mark.parametrize(
    ("operators", "wanted"),
    [
        ([], ""),
        (["view"], "view"),
        (["view", "convert"], "view +1"),
        (["view", "dequantise", "hard_swish", "dequantise", "quantise"], "hard_swish +4"),
        (["conv2d", "relu"], "conv2d +1"),
        (["cast", "reduce_sum"], "reduce_sum +1"),
    ],
)
def test_the_operator_that_computes_is_named(operators: list[str], wanted: str) -> None:
    assert short_names(operators) == wanted

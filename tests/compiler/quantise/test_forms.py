"""Forms of values, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.nodes import Var
from tandem.compiler.quantise.forms import Int8Value, Movement, PendingAccumulator, Scale

PLAIN = PendingAccumulator(Var("acc"), np.ones(1), np.zeros(1, np.int64), 128)


def test_the_nearest_integer() -> None:
    scale = Scale(0.5, 3)
    # Halves to even, then the zero point.
    assert [scale.nearest(real) for real in (0, 0.25, 0.75, -0.25, -0.3, 1)] == [3, 3, 5, 3, 2, 5]
    assert Scale(0.5).nearest(1000) == 2000
    assert isinstance(scale.nearest(0.5), int)


def test_scales_are_equal_whatever_they_were_chosen_for() -> None:
    assert Scale(0.5, 1, of_zeros=True) == Scale(0.5, 1)
    assert hash(Scale(0.5, 1, of_zeros=True)) == hash(Scale(0.5, 1))
    assert Scale(0.5, 1) != Scale(0.5)
    assert Scale(0.5) != Scale(0.25)


def test_plain_accumulators() -> None:
    assert PLAIN.is_plain
    value = Int8Value(Var("r"), Scale(1.0))
    for changed in (
        replace(PLAIN, residual=value),
        replace(PLAIN, low=0.0),
        replace(PLAIN, high=0.0),
        replace(PLAIN, moves=(Movement("flatten", NO_ATTRIBUTES),)),
    ):
        assert not changed.is_plain
    assert replace(PLAIN, always_int8=True).is_plain


@pytest.mark.parametrize(
    ("before", "limits", "wanted"),
    [
        ((None, None), (None, None), (None, None)),
        ((None, None), (0.0, 6.0), (0.0, 6.0)),
        ((0.0, 6.0), (None, None), (0.0, 6.0)),
        ((0.0, 6.0), (-1.0, 4.0), (0.0, 4.0)),
        ((-1.0, 4.0), (0.0, 6.0), (0.0, 4.0)),
        ((0.0, None), (None, 6.0), (0.0, 6.0)),
    ],
)
def test_limits_are_joined(
    before: tuple[float | None, float | None],
    limits: tuple[float | None, float | None],
    wanted: tuple[float | None, float | None],
) -> None:
    found = replace(PLAIN, low=before[0], high=before[1]).within(*limits)
    assert (found.low, found.high) == wanted
    assert found.acc is PLAIN.acc

"""Estimated cycles of Winograd's algorithm, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.register_tiles import StepCosts
from tandem.compiler.machines.cpu.templates.winograd_sizes import WinogradSizes
from tandem.compiler.plan.space import Choices

SIMD = Simd(32, 16)
"""Eight floats in each of 16 registers."""
CHOICE = Choices.of([{"outputs": 2, "channels": 16, "rows": 1, "columns": 2}])


def step() -> float:
    """Cycles of an input channel in a register tile of two vectors by two columns."""
    two = np.array([2])
    (found,) = StepCosts.of(SIMD, None).time(two, two)
    return float(found) / 2


@pytest.mark.parametrize(
    ("inputs", "least"),
    [
        # 384 times two vectors of weights, 24 KiB, stay in the first cache; one more does not.
        (384, 0.0),
        (385, 64 / 12),
    ],
)
def test_weights_in_the_first_cache(inputs: int, least: float) -> None:
    sizes = WinogradSizes(
        batch=1, inputs=inputs, channels=16, rows=2, columns=4, simd=SIMD, threads=1
    )
    points = 16
    assert 4.0 == step() < 64 / 12
    product = points * inputs * max(step(), least)
    # One row of two tiles of 2 x 2 outputs, transformed by vectors of eight tiles.
    data = inputs * 1 * 1 * points * 5.0
    output = 2 * 1 * 2 * (points + 4) * 6.0
    weights = points * inputs * 16 * 4 / 32.0
    (found,) = sizes.cycles(CHOICE)
    assert found == pytest.approx(product + data + output + weights)

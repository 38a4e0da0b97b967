"""Winograd's matrices: correlations by fewer products, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tandem.compiler.machines.cpu.templates.winograd_transforms import (
    KERNEL,
    TRANSFORMS,
    Matrix,
    Transform,
)

OUTPUTS = pytest.mark.parametrize("outputs", TRANSFORMS)


def exact(matrix: Matrix) -> list[list[Fraction]]:
    """A matrix as the fractions of 24ths that its floats stand for."""
    found = [[Fraction(each).limit_denominator(24) for each in row] for row in matrix]
    assert [[float(each) for each in row] for row in found] == [[*row] for row in matrix]
    return found


def test_sizes() -> None:
    assert KERNEL == 3
    assert [(key, found.outputs, found.inputs) for key, found in TRANSFORMS.items()] == [
        (2, 2, 4),
        (4, 4, 6),
    ]
    for transform in TRANSFORMS.values():
        shapes = [np.shape(each) for each in (transform.data, transform.weight, transform.output)]
        side = transform.inputs
        assert shapes == [(side, side), (side, 3), (transform.outputs, side)]


@OUTPUTS
def test_each_output_is_the_sum_of_three_products(outputs: int) -> None:
    """A^T ((G g) * (B^T d)) is linear in the data and in the weights: one of each is enough."""
    transform = TRANSFORMS[outputs]
    data, weight, output = map(exact, (transform.data, transform.weight, transform.output))
    points = range(transform.inputs)
    for at, pixel, term in product(range(outputs), points, range(KERNEL)):
        found = sum(output[at][p] * weight[p][term] * data[p][pixel] for p in points)
        assert found == (pixel == at + term)


@OUTPUTS
def test_tiles_of_two_dimensions(outputs: int) -> None:
    """Both sides are transformed by the same matrices."""
    transform = TRANSFORMS[outputs]
    b, g, a = (np.array(each) for each in (transform.data, transform.weight, transform.output))
    random = np.random.default_rng(1)
    pixels = random.integers(-99, 99, (transform.inputs,) * 2)
    weights = random.integers(-99, 99, (KERNEL,) * 2)
    found = a @ ((g @ weights @ g.T) * (b @ pixels @ b.T)) @ a.T
    wanted = [
        [int((pixels[y : y + 3, x : x + 3] * weights).sum()) for x in range(outputs)]
        for y in range(outputs)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-6)


@OUTPUTS
def test_points_of_interpolation(outputs: int) -> None:
    """The output's matrix has the powers of 0, 1, -1, 2 and -2, and the last of infinity."""
    points = [0, 1, -1, 2, -2][: outputs + 1]
    for power, row in enumerate(TRANSFORMS[outputs].output):
        assert [abs(each) for each in row[:-1]] == [abs(point**power) for point in points]
        assert abs(row[-1]) == (power == outputs - 1)


def test_a_transform_of_other_sizes_is_none() -> None:
    """Points are there for 2 and 4; the inputs follow from the outputs."""
    with pytest.raises(KeyError):
        TRANSFORMS[3]
    assert Transform(6, (), (), ()).inputs == 8

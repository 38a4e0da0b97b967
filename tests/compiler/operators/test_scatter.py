"""Scatters equal a loop over their updates."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT64
from tandem.compiler.operators.scatter import ScatterReduction, scatter_elements, scatter_nd
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, same

Array = NDArray[Any]

CHANGES: dict[ScatterReduction, Callable[[Any, Any], Any]] = {
    ScatterReduction.NONE: lambda _, new: new,
    ScatterReduction.ADD: operator.add,
    ScatterReduction.MUL: operator.mul,
    ScatterReduction.MAX: max,
    ScatterReduction.MIN: min,
}


@pytest.mark.parametrize("reduction", ScatterReduction)
@pytest.mark.parametrize(
    ("shape", "updated", "axis"),
    [
        ((3, 4), (3, 4), 0),
        ((3, 4), (7, 2), 0),  # More updates than elements along the axis, fewer beside it.
        ((3, 4), (2, 9), -1),
        ((2, 3, 2), (2, 5, 1), 1),
        ((3, 4), (0, 4), 0),
    ],
)
def test_each_update_in_its_order(
    shape: tuple[int, ...], updated: tuple[int, ...], axis: int, reduction: ScatterReduction
) -> None:
    data, updates = numbers(0, shape, "int32") % 4, numbers(1, updated, "int32") % 4
    extent = shape[axis]
    indices = np.random.default_rng(2).integers(-extent, extent, updated)
    wanted = data.copy()
    for place in product(*map(range, updated)):
        changed = list(place)
        changed[axis] = indices[place]
        own = wanted[tuple(changed)]
        wanted[tuple(changed)] = CHANGES[reduction](own, updates[place])
    arrays = {"D": data, "I": indices, "U": updates}
    d, i, u = (given_as(name, array) for name, array in arrays.items())
    read = arrays if 0 not in updated else {"D": data}
    same(evaluate(scatter_elements(d, i, u, axis, reduction), read), wanted)


@pytest.mark.parametrize(
    ("indices", "updates", "axis"),
    [
        ((3, 5), (3, 5), 0),
        ((4, 4), (4, 4), 1),
        ((3, 4), (3, 3), 0),
        ((3,), (3,), 0),
    ],
)
def test_shapes_that_do_not_fit(
    indices: tuple[int, ...], updates: tuple[int, ...], axis: int
) -> None:
    """Beside the axis there may be no more updates than elements; each has an index."""
    data = placeholder((3, 4), FLOAT32, "D")
    given = placeholder(indices, INT64, "I"), placeholder(updates, FLOAT32, "U")
    with pytest.raises(TensorError, match=r"scatter_elements: I int64.* and U .* for D"):
        scatter_elements(data, *given, axis)


@pytest.mark.parametrize("reduction", ScatterReduction)
@pytest.mark.parametrize(
    ("shape", "outer", "depth"),
    [
        ((3, 4), (5,), 2),
        ((3, 4), (5,), 1),
        ((2, 3, 2), (2, 2), 2),
        ((4,), (), 1),
        ((3, 4), (0,), 1),
    ],
)
def test_slices_at_coordinates(
    shape: tuple[int, ...], outer: tuple[int, ...], depth: int, reduction: ScatterReduction
) -> None:
    data = numbers(0, shape, "int32") % 4
    updates = np.asarray(numbers(1, (*outer, *shape[depth:]), "int32") % 4)
    extents = np.array(shape[:depth])
    indices = np.random.default_rng(2).integers(-extents, extents, (*outer, depth))
    wanted = data.copy()
    for place in np.ndindex(outer):
        for inner in np.ndindex(shape[depth:]):
            at = (*indices[place], *inner)
            wanted[at] = CHANGES[reduction](wanted[at], updates[(*place, *inner)])
    arrays = {"D": data, "I": indices, "U": updates}
    d, i, u = (given_as(name, array) for name, array in arrays.items())
    read = arrays if 0 not in outer else {"D": data}
    same(evaluate(scatter_nd(d, i, u, reduction), read), wanted)


@pytest.mark.parametrize(
    ("indices", "updates"),
    [
        ((2, 3), (2,)),  # More coordinates than axes.
        ((2, 0), (2, 3, 4)),  # None.
        ((), (3, 4)),
        ((2, 1), (2, 3)),  # No slice.
        ((2, 1), (3, 4)),  # Fewer and more updates than indices.
        ((2, 2), (3,)),
        ((2, 2), (2, 1)),
    ],
)
def test_slices_that_do_not_fit(indices: tuple[int, ...], updates: tuple[int, ...]) -> None:
    data = placeholder((3, 4), FLOAT32, "D")
    given = placeholder(indices, INT64, "I"), placeholder(updates, FLOAT32, "U")
    with pytest.raises(TensorError, match=r"scatter_nd: I int64.* and U .* for D"):
        scatter_nd(data, *given)

"""The operators that no library has, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tandem.compiler.ir import interpreter
from tandem.compiler.te import Schedule, Tensor
from tandem.scripts.bench.own_expressions import (
    EXPRESSIONS,
    distances,
    local_variation,
    tropical_product,
)

Array = npt.NDArray[Any]


def drawn(*shape: int) -> Array:
    """Small integers, whose sums are exact."""
    return np.random.default_rng(len(shape)).integers(-8, 9, shape).astype(np.float32)


def computed(tensor: Tensor, **inputs: Array) -> Array:
    """The tensor by the interpreter, of inputs by name."""
    program = Schedule.of(tensor).program
    (found,) = interpreter.run(program, [inputs[each.name] for each in program.inputs])
    return found


def test_products_by_maxima_of_sums() -> None:
    a, b = drawn(3, 5), drawn(5, 4)
    found = computed(tropical_product(3, 4, 5), a=a, b=b)
    assert np.array_equal(found, (a[:, :, None] + b[None]).max(axis=1))


def test_distances_of_all_rows() -> None:
    x, y = drawn(3, 5), drawn(4, 5)
    found = computed(distances(3, 4, 5), x=x, y=y)
    assert np.array_equal(found, np.abs(x[:, None] - y[None]).sum(axis=2))


def test_windows_against_their_middles() -> None:
    x, w = drawn(2, 6, 6), drawn(3, 3)
    found = computed(local_variation(2, 4), x=x, w=w)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    away = np.abs(windows - x[:, 1:-1, 1:-1, None, None])
    assert np.array_equal(found, (away * w).sum(axis=(3, 4)))


def test_each_has_a_name() -> None:
    assert [of().name for of in EXPRESSIONS.values()] == ["longest", "distance", "variation"]

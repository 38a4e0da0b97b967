"""Gradients of what is found or changed at positions: each element's is where it went."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GradientError
from tests.support.compiler.graph.calls import gradients, value

X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("params", "call"),
    [
        ("x: float64[2, 3]", "gather(x, int64[4](1, 0, -1, 1))"),
        ("x: float64[2, 3]", "gather(x, int64[2, 2](2, 0, 2, -2), axis=1)"),
        ("x: float64[2, 3]", "gather(x, int64[](1), axis=-1)"),
        # Out of range: the nearest.
        ("x: float64[2, 3]", "gather(x, int64[2](7, -9))"),
        ("x: float64[2, 3]", "gather_elements(x, int64[1, 3](1, 0, -1))"),
        ("x: float64[2, 3]", "gather_elements(x, int32[2, 2](2, 2, 0, -1), axis=1)"),
        ("x: float64[2, 3]", "gather_nd(x, int64[3, 2](1, 2, 0, 0, 1, 2))"),
        ("x: float64[2, 3]", "gather_nd(x, int64[3, 2](-1, -2, -2, -3, 1, -1))"),
        ("x: float64[1, 2, 3]", "gather_nd(x, int64[1, 2](-2, -1), batch_dims=1)"),
        ("x: float64[2, 3]", "gather_nd(x, int64[2, 1](1, 1))"),
        ("x: float64[2, 3]", "gather_nd(x, int64[2, 1](2, -3), batch_dims=1)"),
        ("x: float64[2, 3]", "gather_nd(x, int64[2, 2, 1](0, 0, 2, 1), batch_dims=1)"),
        ("x: float64[2, 1, 3]", "gather_nd(x, int64[2, 1, 2, 1](0, 0, 2, 1), batch_dims=2)"),
        ("x: float64[1, 2, 3]", "gather_nd(x, int64[1, 2, 1](2, -1), batch_dims=2)"),
    ],
)
def test_what_is_gathered(params: str, call: str) -> None:
    x = X.reshape([int(each) for each in params[11:-1].split(",")])
    (found,) = gradients(params, call, x)
    went = value(params, call, x)
    assert isinstance(went, np.ndarray)
    wanted = np.zeros(6)
    np.add.at(wanted, went.reshape(-1).astype(int), np.arange(1.0, went.size + 1))
    np.testing.assert_array_equal(found, wanted.reshape(x.shape))


def test_one_hot() -> None:
    indices, values = np.array([1, 0]), np.array([5.0, 7.0])
    (found,) = gradients("i: int64[2], v: float64[2]", "one_hot(i, v, depth=3)", indices, values)
    # The weights are 1, 2, 3 and 4, 5, 6: on where the index is.
    assert found.tolist() == [1 + 3 + 5 + 6, 2 + 4]
    first = "one_hot(i, v, depth=2, axis=0)"
    (turned,) = gradients("i: int64[2], v: float64[2]", first, indices, values)
    assert turned.tolist() == [1 + 4, 2 + 3]


@pytest.mark.parametrize(
    ("index", "data", "row"),
    [
        (1, [[1, 2, 3], [0, 0, 0]], [4, 5, 6]),
        (0, [[0, 0, 0], [4, 5, 6]], [1, 2, 3]),
        # No row is replaced.
        (2, [[1, 2, 3], [4, 5, 6]], [0, 0, 0]),
        (-1, [[1, 2, 3], [4, 5, 6]], [0, 0, 0]),
    ],
)
def test_a_row(index: int, data: list[list[float]], row: list[float]) -> None:
    found = gradients(
        "x: float64[2, 3], r: float64[3], i: int64[]",
        "put_row(x, r, i)",
        X,
        np.zeros(3),
        np.array(index),
    )
    assert [each.tolist() for each in found] == [data, row]


SCATTER = "x: float64[2, 3], u: float64"


@pytest.mark.parametrize(
    ("shape", "call", "data", "updates"),
    [
        (
            (1, 3),
            "scatter_elements(x, int64[1, 3](1, 0, -1), u)",
            [[1, 0, 3], [0, 5, 0]],
            [[4, 2, 6]],
        ),
        # Of two that replace an element, the last has it; one that is out of range has none.
        (
            (1, 3),
            "scatter_elements(x, int64[1, 3](2, 2, 3), u, axis=1)",
            [[1, 2, 0], [4, 5, 6]],
            [[0, 3, 0]],
        ),
        (
            (1, 3),
            "scatter_elements(x, int64[1, 3](2, 2, -4), u, axis=1, reduction=add)",
            [[1, 2, 3], [4, 5, 6]],
            [[3, 3, 0]],
        ),
        ((1, 3), "scatter_nd(x, int64[1, 1](1), u)", [[1, 2, 3], [0, 0, 0]], [[4, 5, 6]]),
        (
            (3,),
            "scatter_nd(x, int64[3, 2](0, 1, 0, 1, 1, -1), u)",
            [[1, 0, 3], [4, 5, 0]],
            [0, 2, 6],
        ),
        (
            (2, 3),
            "scatter_nd(x, int64[2, 1](1, 1), u, reduction=add)",
            [[1, 2, 3], [4, 5, 6]],
            [[4, 5, 6], [4, 5, 6]],
        ),
    ],
)
def test_what_is_scattered(
    shape: tuple[int, ...], call: str, data: list[list[float]], updates: list[float]
) -> None:
    found = gradients(f"{SCATTER}{list(shape)}", call, X, np.zeros(shape))
    assert [each.tolist() for each in found] == [data, updates]


@pytest.mark.parametrize("reduction", ["mul", "max", "min"])
def test_reductions_without_a_gradient(reduction: str) -> None:
    for name, indices in (("scatter_elements", "int64[1, 3]"), ("scatter_nd", "int64[1, 1]")):
        count = 3 if indices.endswith("3]") else 1
        call = f"{name}(x, {indices}({', '.join('0' * count)}), u, reduction={reduction})"
        message = f"has no gradient: its reduction is {reduction}: with none or add there is one"
        with pytest.raises(GradientError, match=message):
            gradients(f"{SCATTER}[1, 3]", call, X, np.zeros((1, 3)))

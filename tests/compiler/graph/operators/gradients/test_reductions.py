"""Gradients of reductions, worked out by hand, and at ties."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tests.support.compiler.graph.calls import gradients

X = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 0.5]])


def of(call: str, x: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = X) -> list[list[float]]:
    (found,) = gradients(f"x: float64{list(x.shape)}", call, x)
    assert found.shape == x.shape
    whole: list[list[float]] = found.tolist()
    return whole


def test_sums_and_means() -> None:
    assert of("reduce_sum(x, axes=[1])") == [[1, 1, 1], [2, 2, 2]]
    assert of("reduce_sum(x, axes=[-2])") == [[1, 2, 3], [1, 2, 3]]
    assert of("reduce_sum(x, axes=[0], keepdims=False)") == [[1, 2, 3], [1, 2, 3]]
    assert of("reduce_sum(x, axes=[])") == [[1, 2, 3], [4, 5, 6]]
    assert of("reduce_sum(x)") == [[1, 1, 1], [1, 1, 1]]
    assert of("reduce_mean(x, axes=[1])") == [[1 / 3] * 3, [2 / 3] * 3]
    assert of("reduce_mean(x)") == [[1 / 6] * 3] * 2
    assert of("reduce_sum_square(x, axes=[1])") == [[2, 4, 8], [12, 20, 2]]


def test_extremes_share_between_equal_elements() -> None:
    tied = np.array([[4.0, 2.0, 4.0], [3.0, 5.0, 0.5]])
    assert of("reduce_max(x, axes=[1])", tied) == [[0.5, 0, 0.5], [0, 2, 0]]
    assert of("reduce_min(x, axes=[1], keepdims=False)", tied) == [[0, 1, 0], [0, 0, 2]]
    assert of("reduce_min(x)", np.ones((2, 2))) == [[0.25, 0.25], [0.25, 0.25]]


def test_norms() -> None:
    signed = np.array([[3.0, -4.0], [0.0, 0.0]])
    assert of("reduce_l1(x, axes=[1])", signed) == [[1, -1], [0, 0]]
    # x / y; 0 where the norm is 0.
    assert of("reduce_l2(x, axes=[1])", signed) == [[3 * (1 / 5), -4 * (1 / 5)], [0, 0]]


def test_logarithms() -> None:
    assert of("reduce_log_sum(x, axes=[1])") == [[1 / 7] * 3, [2 / 8.5] * 3]
    found = of("reduce_log_sum_exp(x, axes=[1])")
    shares = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(found, shares * [[1], [2]], rtol=1e-12)


def test_products() -> None:
    assert of("reduce_prod(x, axes=[1])") == [[8, 4, 2], [5, 3, 30]]
    assert of("reduce_prod(x, axes=[0], keepdims=False)") == [[3, 10, 1.5], [1, 4, 12]]
    # With zeros among the others.
    assert of("reduce_prod(x)", np.array([[0.0, 2.0], [3.0, 5.0]])) == [[30, 0], [0, 0]]
    assert of("reduce_prod(x, axes=[1])", np.array([[0.0, 2.0, 0.0]])) == [[0, 0, 0]]
    cube = np.arange(1.0, 9.0).reshape(2, 2, 2)
    (found,) = gradients("x: float64[2, 2, 2]", "reduce_prod(x, axes=[2, 0])", cube)
    # The products of all but the element, of 1, 2, 5, 6 and of 3, 4, 7, 8.
    wanted = [[60, 30], [2 * 224, 2 * 168]], [[12, 10], [2 * 96, 2 * 84]]
    np.testing.assert_allclose(found, wanted)


def test_global_pools() -> None:
    image = np.array([[[[1.0, 4.0], [4.0, 0.0]], [[7.0, 1.0], [2.0, 3.0]]]])
    (average,) = gradients("x: float64[1, 2, 2, 2]", "global_average_pool(x)", image)
    assert average.tolist() == [[[[0.25] * 2] * 2, [[0.5] * 2] * 2]]
    (most,) = gradients("x: float64[1, 2, 2, 2]", "global_max_pool(x)", image)
    assert most.tolist() == [[[[0, 0.5], [0.5, 0]], [[2, 0], [0, 0]]]]


@pytest.mark.parametrize(
    ("given", "sums", "products"),
    [
        # Of x = 2, 3, 5, and weights 1, 2, 3.
        ("", [6, 5, 3], [1 + 6 + 45, 4 + 30, 18]),
        (", reverse=True", [1, 3, 6], [15, 10 + 10, 6 + 6 + 3]),
        (", exclusive=True", [5, 3, 0], [2 + 9, 6, 0]),
        (", exclusive=True, reverse=True", [0, 1, 3], [0, 5, 3 + 2]),
    ],
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_up_to_each_position(
    given: str, sums: list[float], products: list[float], axis: int
) -> None:
    shape = (3, 1) if axis == 0 else (1, 3)
    x = np.array([2.0, 3.0, 5.0]).reshape(shape)
    for name, wanted in (("cumulative_sum", sums), ("cumulative_product", products)):
        call = f"{name}(x, axis={axis}{given})"
        (found,) = gradients(f"x: float64{list(shape)}", call, x)
        assert found.reshape(3).tolist() == wanted
        assert found.shape == shape


def test_zeros_in_cumulative_products() -> None:
    (found,) = gradients("x: float64[3]", "cumulative_product(x)", np.array([2.0, 0.0, 5.0]))
    assert found.tolist() == [1, 2 * 2 + 3 * 10, 0]


def test_refusals() -> None:
    program = """
func @f(x: float64[2, N]) -> float64[]:
  y = cumulative_product(x)
  z = reduce_sum(y, keepdims=False)
  return z
"""
    for axis, symbol in ((0, "2, N"), (1, "N, 2")):
        text = program.replace("2, N", symbol).replace("(x)", f"(x, axis={axis})")
        value_and_grad(parse_function(text, OPERATORS))
    text = program.replace("cumulative_product(x)", "reduce_prod(x, axes=[0])")
    with pytest.raises(GraphError, match="the operand of a product"):
        value_and_grad(parse_function(text, OPERATORS))

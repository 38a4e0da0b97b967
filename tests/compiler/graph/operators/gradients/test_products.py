"""Gradients of products, against products of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.operators.operators import Array

RNG = np.random.default_rng(0)


def some(*shape: int) -> Array:
    return RNG.integers(-4, 5, shape).astype(float)


def weights(*shape: int) -> Array:
    return np.arange(1.0, np.prod(shape) + 1).reshape(shape)


def params(*shapes: tuple[int, ...]) -> str:
    return ", ".join(
        f"{name}: float64{list(shape)}" for name, shape in zip("abc", shapes, strict=False)
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((2, 2, 3), (3, 4)),
        ((2, 2, 3), (2, 3, 4)),
        ((2, 3), (2, 3, 4)),
        ((5, 1, 2, 3), (2, 3, 1)),
        ((2, 2, 3), (3,)),
        ((3,), (2, 3, 4)),
    ],
)
def test_stacks(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = some(*left), some(*right)
    found = gradients(params(left, right), "matmul(a, b)", a, b)
    g = weights(*np.matmul(a, b).shape)
    # Of each element of a: what the result gains if it grows by 1, of a product that is linear.
    for number, operand in enumerate((a, b)):
        for place in np.ndindex(operand.shape):
            unit = np.zeros_like(operand)
            unit[place] = 1
            grown = np.matmul(*((unit, b), (a, unit))[number])
            assert found[number][place] == (grown * g).sum()


def test_layers() -> None:
    x, w, b = some(4, 3), some(2, 3), some(2)
    of_x, of_w, of_b = gradients(params((4, 3), (2, 3), (2,)), "dense(a, b, c)", x, w, b)
    g = weights(4, 2)
    np.testing.assert_array_equal(of_x, g @ w)
    np.testing.assert_array_equal(of_w, g.T @ x)
    np.testing.assert_array_equal(of_b, g.sum(0))
    two = gradients(params((4, 3), (2, 3)), "dense(a, b)", x, w)
    np.testing.assert_array_equal(two[1], of_w)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_gemm(alpha: float, turned_a: bool, turned_b: bool) -> None:
    a, b, c = some(4, 3), some(3, 2), some(1, 2)
    given = [a.T if turned_a else a, b.T if turned_b else b, c]
    call = f"gemm(a, b, c, alpha={alpha}, beta=2.0, trans_a={turned_a}, trans_b={turned_b})"
    call = call.replace("alpha=1.0, ", "").replace("trans_a=False, ", "")
    call = call.replace(", trans_b=False", "")
    shapes = [each.shape for each in given]
    of_a, of_b, of_c = gradients(params(*shapes), call, *map(np.ascontiguousarray, given))
    g = weights(4, 2)
    np.testing.assert_array_equal(of_a.T if turned_a else of_a, alpha * g @ b.T)
    np.testing.assert_array_equal(of_b.T if turned_b else of_b, alpha * a.T @ g)
    np.testing.assert_array_equal(of_c, 2 * g.sum(0, keepdims=True))


def test_gradients_have_the_operands_types() -> None:
    a, b = np.array([[1, 2]], np.float32), np.array([[3], [4]], np.float32)
    given = "a: float32[1, 2], b: float32[2, 1]"
    found = gradients(given, "matmul(a, b, out_dtype=float64)", a, b)
    assert [each.dtype.name for each in found] == ["float32", "float32"]
    assert [each.reshape(-1).tolist() for each in found] == [[3, 4], [1, 2]]


def test_a_matrix_that_several_multiply_has_one_product() -> None:
    """Its rows are those of all matrices: nothing is summed after."""
    program = """
func @f(a: float64[5, 2, 3], b: float64[3, 4]) -> float64[]:
  y = matmul(a, b)
  z = reduce_sum(y, keepdims=False)
  return z
"""
    found = text(value_and_grad(graph(program), ["b"]))
    assert "reshape(a, shape=[10, 3]" in found
    assert found.count("reduce_sum(") == 1

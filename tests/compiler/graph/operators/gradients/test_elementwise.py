"""Gradients of arithmetic by the slopes of calculus, and at corners and ties."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tandem.compiler.graph.gradient_query import constant_gradient
from tandem.compiler.graph.operators.gradients.elementwise import RULES
from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.operators.operators import Array

X = np.array([-0.75, -0.25, 0.5, 0.875])
BEYOND = np.array([1.25, 2.0, 3.5, 9.0])
W = np.arange(1.0, 5.0)
ROW = "x: float64[4]"


@pytest.mark.parametrize(
    ("name", "x", "slope"),
    [
        ("absolute", X, np.sign),
        ("acos", X, lambda x: -1 / np.sqrt(1 - x**2)),
        ("acosh", BEYOND, lambda x: 1 / np.sqrt(x**2 - 1)),
        ("asin", X, lambda x: 1 / np.sqrt(1 - x**2)),
        ("asinh", X, lambda x: 1 / np.sqrt(1 + x**2)),
        ("atan", X, lambda x: 1 / (1 + x**2)),
        ("atanh", X, lambda x: 1 / (1 - x**2)),
        ("cos", X, lambda x: -np.sin(x)),
        ("cosh", X, np.sinh),
        ("erf", X, lambda x: 2 / math.sqrt(math.pi) * np.exp(-(x**2))),
        ("exp", X, np.exp),
        ("log", BEYOND, lambda x: 1 / x),
        ("reciprocal", X, lambda x: -1 / x**2),
        ("sin", X, np.cos),
        ("sinh", X, np.cosh),
        ("sqrt", BEYOND, lambda x: 0.5 / np.sqrt(x)),
        ("tan", X, lambda x: 1 / np.cos(x) ** 2),
        ("tanh", X, lambda x: 1 / np.cosh(x) ** 2),
        ("negative", X, lambda x: -np.ones(4)),
        ("identity", X, lambda x: np.ones(4)),
    ],
)
def test_slopes(name: str, x: Array, slope: Callable[[Array], Array]) -> None:
    (found,) = gradients(ROW, f"{name}(x)", x)
    np.testing.assert_allclose(found, W * slope(x), rtol=1e-12)


def two(call: str, a: list[float], b: list[float]) -> list[list[float]]:
    size = f"float64[{len(a)}]"
    found = gradients(f"a: {size}, b: {size}", call, np.array(a), np.array(b))
    return [each.tolist() for each in found]


def test_two_operands() -> None:
    a, b = [3.0, 5.0], [2.0, -4.0]
    assert two("add(a, b)", a, b) == [[1, 2], [1, 2]]
    assert two("subtract(a, b)", a, b) == [[1, 2], [-1, -2]]
    assert two("multiply(a, b)", a, b) == [[2, -8], [3, 10]]
    # 1 / b and -a / b**2, times 1 and 2.
    assert two("divide(a, b)", a, b) == [[0.5, -0.5], [-0.75, -0.625]]
    assert two("mean(a, b)", a, b) == [[0.5, 1], [0.5, 1]]
    assert two("total(a, b, a)", a, b) == [[2, 4], [1, 2]]


def test_extremes_share_between_equal_operands() -> None:
    a, b = [1.0, 5.0, 2.0], [3.0, 4.0, 2.0]
    assert two("maximum(a, b)", a, b) == [[0, 2, 1.5], [1, 0, 1.5]]
    assert two("minimum(a, b)", a, b) == [[1, 0, 1.5], [0, 2, 1.5]]
    assert two("maximum(a, b, b)", a, b) == [[0, 2, 1], [1, 0, 2]]
    (alone,) = gradients("a: float64[2]", "maximum(a)", np.array([1.0, 2.0]))
    assert alone.tolist() == [1, 2]


def test_powers() -> None:
    # b * a**(b - 1), and a**b * log(a): 0 where the base is 0.
    base, rise = two("power(a, b)", [2.0, 3.0, 0.0], [3.0, 0.0, 2.0])
    assert base == [12, 0, 0]
    np.testing.assert_allclose(rise, [8 * math.log(2), 2 * math.log(3), 0], rtol=1e-12)
    # 0**0: the slope of a constant, and no logarithm of 0.
    assert two("power(a, b)", [0.0], [0.0]) == [[0], [0]]
    mixed = gradients(
        "a: float64[2], b: float32[2]",
        "power(a, b)",
        np.array([2.0, 4.0]),
        np.array([3, 0.5], np.float32),
    )
    assert [each.dtype.name for each in mixed] == ["float64", "float32"]
    np.testing.assert_allclose(mixed[0], [12, 2 * 0.5 / 2])
    (whole,) = gradients(
        "a: float64[2], b: int32[2]",
        "power(a, b)",
        np.array([2.0, 3.0]),
        np.array([2, 3], np.int32),
    )
    assert whole.tolist() == [4, 54]


def test_remainders() -> None:
    size = "float32[3]"
    a, b = np.array([7.5, -7.5, 3.0], np.float32), np.array([2, 2, 5], np.float32)
    for fmod, wanted in ((0, [-3, 8, 0]), (1, [-3, 6, 0])):
        call = f"modulo(a, b, fmod={fmod})"
        of_a, of_b = gradients(f"a: {size}, b: {size}", call, a, b)
        assert of_a.tolist() == [1, 2, 3]
        # Minus the quotient, times 1, 2 and 3.
        assert of_b.tolist() == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", [1, 2, 3, 4, 5]),
        (", min=-1.0", [0, 2, 3, 4, 5]),
        (", max=1.0", [1, 2, 3, 4, 0]),
        # At the bounds it is passed on.
        (", min=-1.0, max=1.0", [0, 2, 3, 4, 0]),
        (", min=1.0, max=1.0", [0, 0, 0, 4, 0]),
        (", min=1.0, max=-1.0", [0, 0, 0, 0, 0]),
    ],
)
def test_clipping(given: str, wanted: list[float]) -> None:
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    (found,) = gradients("x: float64[5]", f"clip(x{given})", x)
    assert found.tolist() == wanted


def test_choices_and_casts() -> None:
    condition = np.array([True, False])
    found = gradients(
        "c: bool[2], a: float64[2], b: float64[2]", "where(c, a, b)", condition, X[:2], X[:2]
    )
    assert [each.tolist() for each in found] == [[1, 0], [0, 2]]
    (wide,) = gradients("x: float32[2]", "cast(x, to=float64)", np.array([1, 2], np.float32))
    assert (wide.dtype.name, wide.tolist()) == ("float32", [1, 2])


def test_what_was_broadcast_is_summed() -> None:
    a, b, c = np.ones((2, 3)), np.full((1, 3), 2.0), np.array(3.0)
    of_a, of_b, of_c = gradients(
        "a: float64[2, 3], b: float64[1, 3], c: float64[]", "total(a, b, c)", a, b, c
    )
    assert of_a.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert of_b.tolist() == [[5, 7, 9]]
    assert of_c.tolist() == 21


def test_steps_count_as_constants() -> None:
    steps = {name for name, rule in RULES.items() if rule is constant_gradient}
    assert steps == {"ceil", "floor", "round_even", "sign", "stop_gradient"}

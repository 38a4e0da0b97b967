"""Gradients of random programs with branches, loops, recursion, closures and lists."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import pullback, value_and_grad
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.smooth_programs import smooth_program

STEP = 1e-5


def drawn(seed: int) -> tuple[Function, list[Array], list[Array]]:
    """A program, its arguments, and a direction of its floats."""
    random = Random(f"smooth program {seed}")
    function = graph(smooth_program(random))
    rng = np.random.default_rng(seed)
    given = [rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)]
    given += [np.array(random.random() < 0.5) for _ in range(2)]
    given.append(np.array(random.randrange(4)))
    return function, given, [rng.uniform(-1, 1, 3) for _ in range(2)]


def moved(given: list[Array], ways: list[Array], size: float) -> list[Array]:
    floats = [each + size * way for each, way in zip(given, ways, strict=False)]
    return [*floats, *given[len(ways) :]]


def near(found: float, wanted: float, parts: list[Array]) -> None:
    """Within 1e-6 of the sizes that were added."""
    scale = max(1.0, *(float(np.abs(each).max()) for each in parts))
    assert abs(found - wanted) <= 1e-6 * scale


def first_order(seed: int) -> None:
    function, given, ways = drawn(seed)
    value, gradients = evaluate(value_and_grad(function), given)
    np.testing.assert_array_equal(value, evaluate(function, given))
    high, low = (evaluate(function, moved(given, ways, sign * STEP)) for sign in (1, -1))
    assert isinstance(high, np.ndarray)
    assert isinstance(low, np.ndarray)
    found = [np.asarray(each) for each in gradients]
    product = sum(float(each @ way) for each, way in zip(found, ways, strict=True))
    near(product, float(high - low) / (2 * STEP), found)


def second_order(seed: int) -> None:
    """The Hessian times a direction: the pullback's pullback, and differences of gradients."""
    function, given, ways = drawn(seed)
    first = value_and_grad(function)
    second = pullback(pullback(function), ["x", "y"])
    found = evaluate(second, [*given, np.array(1.0), *ways])
    (_, high), (_, low) = (evaluate(first, moved(given, ways, sign * STEP)) for sign in (1, -1))
    for one, a, b in zip(found, high, low, strict=True):
        np.testing.assert_allclose(one, (a - b) / (2 * STEP), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_some_gradients(seed: int) -> None:
    first_order(seed)


@pytest.mark.parametrize("seed", range(5))
def test_some_second_derivatives(seed: int) -> None:
    second_order(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(25, 525))
def test_gradients(seed: int) -> None:
    first_order(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(25, 125))
def test_second_derivatives(seed: int) -> None:
    second_order(seed)

"""Steps of optimisers, against ONNX's equations in NumPy's float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.operators import optimisers
from tandem.compiler.ir.dtypes import FLOAT32, INT64
from tests.support.compiler.frontends.computed import computed
from tests.support.compiler.frontends.converted import Converted
from tests.support.compiler.operators.operators import Array

DOMAIN = "ai.onnx.preview.training"
RATE = 0.25
SHAPES = (2, 3), (4,)
"""Of the parameters."""

Wide: TypeAlias = Sequence[Any]


def drawn(states: int) -> list[list[Array]]:
    """Parameters, gradients, and as many states, which are positive."""
    random = np.random.default_rng(3)
    signed = [[random.standard_normal(each) for each in SHAPES] for _ in range(2)]
    positive = [[random.uniform(0.5, 2, each) for each in SHAPES] for _ in range(states)]
    return [[each.astype(np.float32) for each in them] for them in (*signed, *positive)]


def found_by(operator: str, step: int, states: int, **given: Any) -> list[Array]:
    tensors = [each for them in drawn(states) for each in them]
    return computed(
        optimisers.CONVERTERS,
        f"{DOMAIN}.{operator}",
        1,
        np.array(RATE, np.float32),
        np.array(step, np.int64),
        *tensors,
        outputs=2 * (1 + states),
        **given,
    )


def close(found: Sequence[Array], *wanted: Wide) -> None:
    """New parameters, then each kind of new states."""
    every = [each for them in wanted for each in them]
    for one, other in zip(found, every, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def regularised(gradients: Wide, parameters: Wide, factor: float) -> list[Array]:
    return [g + factor * p.astype(np.float64) for g, p in zip(gradients, parameters, strict=True)]


@pytest.mark.parametrize("step", [0, 3])
@pytest.mark.parametrize(("decay", "norm", "epsilon"), [(0.5, 0.1, 0.3), (0.0, 0.0, 1e-6)])
def test_adagrad(step: int, decay: float, norm: float, epsilon: float) -> None:
    given = {"decay_factor": decay, "norm_coefficient": norm, "epsilon": epsilon}
    found = found_by("Adagrad", step, 1, **(given if norm else {}))
    parameters, gradients, squares = drawn(1)
    whole = regularised(gradients, parameters, norm)
    sums = [h + g * g for h, g in zip(squares, whole, strict=True)]
    rate = RATE / (1 + step * decay)
    triples = zip(parameters, whole, sums, strict=True)
    close(found, [p - rate * g / (np.sqrt(h) + epsilon) for p, g, h in triples], sums)


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize("given", [(0.7, 0.95, 0.2, 0.1, 0.3), (0.9, 0.999, 0.0, 0.0, 1e-6)])
def test_adam(step: int, given: tuple[float, ...]) -> None:
    alpha, beta, norm, after, epsilon = given
    names = ("alpha", "beta", "norm_coefficient", "norm_coefficient_post", "epsilon")
    stated = dict(zip(names, given, strict=True)) if norm else {}
    found = found_by("Adam", step, 2, **stated)
    parameters, gradients, first, second = drawn(2)
    whole = regularised(gradients, parameters, norm)
    first = [alpha * v + (1 - alpha) * g for v, g in zip(first, whole, strict=True)]
    second = [beta * h + (1 - beta) * g * g for h, g in zip(second, whole, strict=True)]
    rate = RATE * np.sqrt(1 - beta**step) / (1 - alpha**step) if step > 0 else RATE
    triples = zip(parameters, first, second, strict=True)
    moved = [p - rate * v / (np.sqrt(h) + epsilon) for p, v, h in triples]
    close(found, [(1 - after) * each for each in moved], first, second)


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("step", [0, 1])
def test_momentum(mode: str, step: int) -> None:
    alpha, beta, norm = 0.75, 0.4, 0.2
    given = {"alpha": alpha, "beta": beta, "norm_coefficient": norm, "mode": mode}
    found = found_by("Momentum", step, 1, **given)
    parameters, gradients, old = drawn(1)
    whole = regularised(gradients, parameters, norm)
    factor = beta if step > 0 else 1
    velocities = [alpha * v + factor * g for v, g in zip(old, whole, strict=True)]
    ways = velocities
    if mode == "nesterov":
        ways = [g + alpha * v for g, v in zip(whole, velocities, strict=True)]
    close(found, [p - RATE * w for p, w in zip(parameters, ways, strict=True)], velocities)


@pytest.mark.parametrize(
    ("operator", "shapes", "message"),
    [
        ("Adagrad", [(2,), (2,)], "2 tensors: 3 for each parameter are expected"),
        ("Adagrad", [(2,)] * 4, "4 tensors: 3 for each parameter are expected"),
        ("Adam", [(2,)] * 3, "3 tensors: 4 for each parameter are expected"),
        ("Adagrad", [(2,), (2,), (3,)], "tensors of one parameter differ in shape"),
        ("Adagrad", [(2,), (3,), (3,)], "tensors of one parameter differ in shape"),
        ("Adagrad", [(2,), (3,)] * 2 + [(2,), (1,)], "tensors of one parameter differ in shape"),
    ],
)
def test_refusals(operator: str, shapes: Sequence[tuple[int, ...]], message: str) -> None:
    made = Converted(optimisers.CONVERTERS)
    rate, step = made.value(dtype=FLOAT32), made.value(dtype=INT64)
    with pytest.raises(FrontendError, match=message):
        made.node(f"{DOMAIN}.{operator}", 1, rate, step, *(made.value(*each) for each in shapes))


def test_other_modes_are_refused() -> None:
    made = Converted(optimisers.CONVERTERS)
    operands = made.value(), made.value(dtype=INT64), *(made.value(2) for _ in range(3))
    given: dict[str, Any] = {"alpha": 0.5, "beta": 0.5, "norm_coefficient": 0.0, "mode": "fast"}
    with pytest.raises(FrontendError, match="mode is 'fast'"):
        made.node(f"{DOMAIN}.Momentum", 1, *operands, **given)

"""Steps of training: optimisers against their formulas, and a network that learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import GradientError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import Adam, Optimiser, Sgd, training_step
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph

LOSS = """
func @loss(w: float64[3], x: float64[3], b: float64[]) -> float64[]:
  y = multiply(w, x)
  z = add(y, b)
  s = multiply(z, z)
  l = reduce_sum(s, keepdims=False)
  return l
"""

RATE = 0.1


def plain(weight: Any, slope: Any, state: dict[str, Any], kind: Optimiser, step: int) -> Any:
    """The formulas, in NumPy."""
    match kind:
        case Sgd(momentum=momentum, decay=decay):
            velocity = momentum * state.get("velocity", 0.0) + slope + decay * weight
            state["velocity"] = velocity
            return weight - RATE * velocity
        case Adam(mean_decay=one, square_decay=two, epsilon=epsilon, decay=decay):
            state["mean"] = one * state.get("mean", 0.0) + (1 - one) * slope
            state["square"] = two * state.get("square", 0.0) + (1 - two) * slope**2
            first, second = state["mean"] / (1 - one**step), state["square"] / (1 - two**step)
            return weight - RATE * (first / (np.sqrt(second) + epsilon) + decay * weight)
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize(
    "kind", [Sgd(), Sgd(momentum=0.9, decay=0.01), Adam(), Adam(0.8, 0.9, 1e-3, decay=0.1)]
)
def test_optimisers(kind: Optimiser, clip: float | None) -> None:
    function = training_step(graph(LOSS), ["w", "b"], kind, clip)
    x = np.array([1.0, -2.0, 0.5])
    weights: list[Any] = [np.array([0.3, 0.2, -0.1]), np.array(0.1)]
    found = [*weights]
    kept: list[Any] = [np.zeros(w.shape) for w in weights for _ in kind.kept]
    states: list[dict[str, Any]] = [{}, {}]
    for step in range(1, 5):
        z = weights[0] * x + weights[1]
        slopes = [2 * z * x, np.sum(2 * z)]
        norm = np.sqrt(sum(np.sum(each**2) for each in slopes))
        if clip is not None:
            slopes = [each * min(1.0, clip / norm) for each in slopes]
        weights = [
            plain(weight, slope, state, kind, step)
            for weight, slope, state in zip(weights, slopes, states, strict=True)
        ]
        given = [found[0], x, found[1], np.array(RATE), np.array(step), *kept]
        loss, *rest = evaluate(function, given)
        np.testing.assert_allclose(loss, np.sum(z**2), rtol=1e-12)
        found, kept = rest[:2], rest[2:]
        for one, other in zip(found, weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        wanted = [state[name] for state in states for name in kind.kept]
        for one, other in zip(kept, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_network_learns_as_one_artifact() -> None:
    network = graph("""
func @f(x: float32[4, 2], y: float32[4, 1], w: float32[4, 2], b: float32[4], v: float32[1, 4]):
  h = dense(x, w, b)
  a = tanh(h)
  p = dense(a, v)
  e = subtract(p, y)
  s = multiply(e, e)
  loss = reduce_mean(s, keepdims=False)
  return loss
""")
    function = training_step(network, ["w", "b", "v"], Adam())
    artifact = build(function, [cpu(CpuTarget.host())], Provenance("step"))
    executor = Executor(artifact, [CpuDevice()])
    rng = np.random.default_rng(0)
    state: dict[str, Array] = {param.name: np.zeros((), np.float32) for param in function.params}
    for param in function.params[5:]:
        owner = next(each for each in function.params if each.name == param.name.split("_")[0])
        if param.name not in ("rate", "step"):
            state[param.name] = np.zeros(owner.type.static_shape("w"), np.float32)  # type: ignore[union-attr]
    state |= {
        "x": np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32),
        "y": np.array([[0], [1], [1], [0]], np.float32),
        "w": rng.standard_normal((4, 2)).astype(np.float32),
        "b": np.zeros(4, np.float32),
        "v": rng.standard_normal((1, 4)).astype(np.float32),
        "rate": np.array(0.05, np.float32),
    }
    losses = []
    for step in range(1, 151):
        outputs = executor.run(state | {"step": np.array(step)}).outputs
        losses.append(float(outputs["loss"]))
        state |= {name.removesuffix("_next"): outputs[name] for name in outputs if name != "loss"}
    assert losses[-1] < 0.01 < losses[0]


def test_refusals() -> None:
    with pytest.raises(GradientError, match=r"^momentum is 1.0: 0 to under 1 is allowed$"):
        Sgd(momentum=1.0)
    with pytest.raises(GradientError, match=r"square_decay is -0.5: 0 to under 1 is allowed"):
        Adam(square_decay=-0.5)
    with pytest.raises(GradientError, match=r"epsilon is 0.0: over 0 is allowed"):
        Adam(epsilon=0.0)
    with pytest.raises(GradientError, match=r"clip is 0.0: over 0 is allowed"):
        training_step(graph(LOSS), ["w"], Sgd(), clip=0.0)
    mixed = graph("""
func @f(w: float64[], v: float32[]) -> float64[]:
  u = cast(v, to=float64)
  l = multiply(w, u)
  return l
""")
    message = (
        r"function f: weights are tensors of float32 or of float64, not w float64\[\], v float"
    )
    with pytest.raises(GradientError, match=message):
        training_step(mixed, ["w", "v"], Sgd())

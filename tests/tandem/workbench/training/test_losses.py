"""Losses, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import Loss, with_loss, with_sample_losses
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph

NETWORK = """
func @f(x: float32[4, 3, 5]) -> float32[4, 3, 5]:
  y = multiply(x, float32[](2.0))
  return y
"""


def plain(output: Array, target: Array, loss: Loss) -> Array:
    """The loss of each sample, in NumPy."""
    match loss:
        case Loss.CROSS_ENTROPY:
            likely = output - np.log(np.exp(output).sum(-1, keepdims=True))
            found = -np.take_along_axis(likely, target[..., None], -1)[..., 0]
        case Loss.MSE:
            found = (output - target) ** 2
        case Loss.MAE:
            found = np.abs(output - target)
        case Loss.BINARY_CROSS_ENTROPY:
            chance = 1 / (1 + np.exp(-output))
            found = -(target * np.log(chance) + (1 - target) * np.log(1 - chance))
    return found.reshape(len(found), -1).mean(1)


@pytest.mark.parametrize("loss", Loss)
def test_formulas(loss: Loss) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 3, 5)).astype(np.float32)
    target: Array = random.random((4, 3, 5)).astype(np.float32)
    if loss is Loss.CROSS_ENTROPY:
        target = random.integers(0, 5, (4, 3))
    wanted = plain(2 * x, target, loss)
    network = graph(NETWORK)
    np.testing.assert_allclose(
        evaluate(with_loss(network, loss), [x, target]), wanted.mean(), rtol=1e-5
    )
    found = evaluate(with_sample_losses(network, loss), [x, target])
    if loss is Loss.CROSS_ENTROPY:
        found, right = found
        np.testing.assert_allclose(right, ((2 * x).argmax(-1) == target).mean(1))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_outputs_without_a_loss() -> None:
    flat = graph("func @f(x: float32[4]) -> float32[4]:\n  y = relu(x)\n  return y\n")
    with pytest.raises(
        TrainingError, match=r"float32\[4\]: cross-entropy is of logits \[N, ..., c"
    ):
        with_loss(flat, Loss.CROSS_ENTROPY)
    whole = graph("func @f(x: int32[4, 2]) -> int32[4, 2]:\n  y = negative(x)\n  return y\n")
    with pytest.raises(TrainingError, match=r"int32\[4, 2\]: a loss is of float32 values"):
        with_loss(whole, Loss.MSE)

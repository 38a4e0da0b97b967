"""A tree LSTM and beam search: artifacts compute what NumPy and Python do."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.driver.build import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.executor import Executor
from tests.compiler.driver.test_control_flow import kept
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.tree_programs import BEAMS, KNOWN_TREE, READ_TREE

Array = NDArray[np.float32]
State = tuple[Array, Array]


@cache
def compiled(program: str) -> Artifact:
    target, backends, _ = kept()
    return build(graph(program), [target], Provenance("net"), backends=backends)


def run(program: str, inputs: dict[str, Any]) -> list[Any]:
    executor = Executor(compiled(program), [CpuDevice(1)])
    return [*executor.run(inputs).outputs.values()]


def sigmoid(x: Array) -> Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def leaf(x: Array, w: Array) -> State:
    i, o, g = np.split(x @ w, 3, axis=1)
    c = sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def node(left: State, right: State, u: Array) -> State:
    i, lf, rf, o, g = np.split(np.concatenate([left[0], right[0]], axis=1) @ u, 5, axis=1)
    c = sigmoid(i) * np.tanh(g) + sigmoid(lf) * left[1] + sigmoid(rf) * right[1]
    return sigmoid(o) * np.tanh(c), c


def weights() -> tuple[Array, Array]:
    generator = np.random.default_rng(3)
    w, u = (generator.standard_normal(shape, np.float32) for shape in ((4, 12), (8, 20)))
    return w, u


def test_a_known_tree_is_straight_code() -> None:
    w, u = weights()
    x = np.random.default_rng(4).standard_normal((3, 1, 4), np.float32)
    manifest = compiled(KNOWN_TREE).manifest
    assert manifest.functions == ()
    assert manifest.forms == ()
    assert [each for step in manifest.steps for each in step.operators].count("matmul") == 5
    (found,) = run(KNOWN_TREE, {"x": x, "w": w, "u": u})
    a, b, c = (leaf(row, w) for row in x)
    np.testing.assert_allclose(found, node(node(a, b, u), c, u)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "codes", [[0, 0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 0, 0, 1, 1, 0, 1]]
)
def test_a_tree_that_is_read(codes: list[int]) -> None:
    w, u = weights()
    x = np.random.default_rng(5).standard_normal((9, 1, 4), np.float32)
    (found,) = run(READ_TREE, {"codes": np.array(codes), "x": x, "w": w, "u": u})
    stack: list[State] = []
    for code, row in zip(codes, x, strict=True):
        if code == 0:
            stack.append(leaf(row, w))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(node(left, right, u))
    np.testing.assert_allclose(found, stack[-1][0], rtol=1e-5, atol=1e-6)


def best(n: int, table: Array) -> tuple[np.float32, int]:
    beams = [(np.float32(0), 0, 0)]
    for _ in range(n):
        every = [
            (score + table[last, token], token, 10 * path + token)
            for score, last, path in beams
            for token in range(3)
        ]
        beams = sorted(every, key=lambda beam: -beam[0])[:2]
    return beams[0][0], beams[0][2]


@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_beam_search(n: int) -> None:
    table = np.random.default_rng(n).standard_normal((3, 3), np.float32)
    score, path = run(BEAMS, {"n": np.array(n), "table": table})
    assert (score, path) == best(n, table)
    _, _, runner = kept()
    wanted = evaluate(graph(BEAMS), [np.array(n), table], runner)
    assert (score, path) == wanted


LOSS = READ_TREE.replace("-> float32[1, 4]:\n  empty", "-> float32[]:\n  empty").replace(
    "  return h\n",
    "  square = multiply(h, h)\n  loss = reduce_sum(square, keepdims=False)\n  return loss\n",
)
"""The squared length of what the tree LSTM gives."""


@cache
def step() -> Executor:
    target, backends, _ = kept()
    made = build(
        value_and_grad(graph(LOSS), ["x", "w", "u"]), [target], Provenance("net"), backends=backends
    )
    return Executor(made, [CpuDevice(1)])


@pytest.mark.parametrize("codes", [[0, 0, 1, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1]])
def test_gradients_of_trees_that_are_inputs(codes: list[int]) -> None:
    """A step of a tree LSTM as an artifact, as one native function: no cell is left, and gradients
    are those of NumPy's values in float64."""
    w, u = weights()
    x = np.random.default_rng(5).standard_normal((9, 1, 4), np.float32)
    given = {"x": x, "w": w, "u": u}
    executor = step()
    whole = executor.run({"codes": np.array(codes), **given}).outputs
    stepwise = executor.run({"codes": np.array(codes), **given}, progress=lambda *_: None).outputs
    assert executor._network is not None
    assert executor._network.heap.cells == 0
    for name, array in whole.items():
        np.testing.assert_array_equal(array, stepwise[name])

    def loss(arrays: dict[str, Any]) -> float:
        stack: list[Any] = []
        for code, row in zip(codes, arrays["x"], strict=True):
            if code == 0:
                stack.append(leaf(row, arrays["w"]))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(node(left, right, arrays["u"]))
        return float(np.sum(stack[-1][0] ** 2))

    exact = {name: array.astype(np.float64) for name, array in given.items()}
    np.testing.assert_allclose(whole["loss"], loss(exact), rtol=1e-5)
    for name, array in exact.items():
        way = np.random.default_rng(6).standard_normal(array.shape)
        high, low = (loss({**exact, name: array + size * way}) for size in (1e-5, -1e-5))
        found = float(np.sum(whole[f"{name}_gradient"] * way))
        np.testing.assert_allclose(found, (high - low) / 2e-5, rtol=1e-4, atol=1e-5)

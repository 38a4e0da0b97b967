"""Normalisation goes into weights where these are known, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tandem.compiler.graph import Call, Constant, Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import EliminateDead, FoldNormalisation, transform
from tandem.compiler.graph.visit import all_lets
from tests.support.compiler.graph.graphs import agree, graph, inputs, same_values

RNG = np.random.default_rng(5)


def constants(**arrays: np.ndarray) -> tuple[dict[str, str], dict[str, Constant]]:
    """How texts write constants of these names, and the table to read them with."""
    made = {name: Constant(array.astype(np.float32)) for name, array in arrays.items()}
    texts = {name: f"{each.type} @ h{each.digest}" for name, each in made.items()}
    return texts, {each.digest: each for each in made.values()}


TEXTS, TABLE = constants(
    w=RNG.standard_normal((3, 2, 2, 2)),
    b=RNG.standard_normal(3),
    d=RNG.standard_normal((3, 4)),
    e=RNG.standard_normal((4, 3)),
    row=RNG.standard_normal((1, 3)),
    rows=RNG.standard_normal((2, 1)),
    s=RNG.standard_normal(3),
    t=RNG.standard_normal(3),
    m=RNG.standard_normal(3),
    v=RNG.uniform(0.5, 2.0, 3),
    huge=np.full(3, 3e38),
)


def program(body: str, texts: Mapping[str, str] = TEXTS) -> Function:
    """A function of an image x and a matrix y."""
    filled = body.replace("NORM(", "batch_norm(").replace("STATS", "{s}, {t}, {m}, {v}")
    head = "func @f(x: float32[2, 2, 3, 3], y: float32[2, 4], c: bool[], k: float32[3]):\n"
    return parse_function(head + filled.format(**texts), OPERATORS, TABLE)


def calls(function: Function) -> list[str]:
    return [
        repr(let.value.callee) if isinstance(let.value, Call) else "if"
        for let in all_lets(function.body)
    ]


@pytest.mark.parametrize(
    "layer",
    [
        "conv2d(x, {w})",
        "conv2d(x, {w}, {b}, strides=[2, 2], padding=[1, 1, 0, 0])",
        "dense(y, {d})",
        "dense(y, {d}, {b})",
        "gemm(y, {e}, alpha=0.5)",
        "gemm(y, {d}, {b}, trans_b=True, beta=-2.0)",
        "gemm(y, {e}, {row}, alpha=3.0, beta=0.5)",
        "gemm(y, {e}, float32[](2.0))",
    ],
)
def test_layers_take_it_in(layer: str) -> None:
    before = program(f"  a = {layer}\n  n = NORM(a, STATS, epsilon=0.01)\n  return n\n")
    after = transform(before, [FoldNormalisation(), EliminateDead()])
    assert calls(after) == [layer.partition("(")[0]]
    agree(before, after, 1e-5)


def test_one_after_the_other() -> None:
    before = program(
        "  a = conv2d(x, {w})\n  n = NORM(a, STATS)\n  o = NORM(n, STATS)\n  return o\n"
    )
    after = transform(before, [FoldNormalisation(), EliminateDead()])
    assert calls(after) == ["conv2d"]
    agree(before, after, 1e-5)


@pytest.mark.parametrize(
    "body",
    [
        # Someone else uses the convolution.
        "  a = conv2d(x, {w})\n  n = NORM(a, STATS)\n  r = add(a, n)\n  return r\n",
        "  a = conv2d(x, {w})\n  n = NORM(a, STATS)\n  t = (a, n)\n  return t\n",
        # Not constants.
        "  a = conv2d(x, {w}, k)\n  n = NORM(a, STATS)\n  return n\n",
        "  a = conv2d(x, {w})\n  n = NORM(a, k, {t}, {m}, {v})\n  return n\n",
        # Not a layer; not right before.
        "  n = NORM(y, float32[4](1.0, 1.0, 1.0, 1.0), float32[4](1.0, 1.0, 1.0, 1.0), "
        "float32[4](1.0, 1.0, 1.0, 1.0), float32[4](1.0, 1.0, 1.0, 1.0))\n  return n\n",
        "  a = conv2d(x, {w})\n  r = relu(a)\n  n = NORM(r, STATS)\n  return n\n",
        "  a = matmul(y, {e})\n  n = NORM(a, STATS)\n  return n\n",
        # What is added differs from row to row.
        "  a = gemm(y, {e}, {rows})\n  n = NORM(a, STATS)\n  return n\n",
        # Weights would be infinite.
        "  a = conv2d(x, {w})\n  n = NORM(a, {huge}, {t}, {m}, {v}, epsilon=-0.4)\n  return n\n",
        "  a = conv2d(x, {w})\n  n = NORM(a, STATS, epsilon=-9.0)\n  return n\n",
    ],
)
def test_all_else_stays(body: str) -> None:
    before = program(body)
    assert FoldNormalisation().apply(before) == before


def test_inside_a_branch() -> None:
    before = program(
        "  a = conv2d(x, {w})\n  r = if c:\n    n = NORM(a, STATS)\n    yield n\n  else:\n"
        "    b = conv2d(x, {w}, {b})\n    yield b\n  return r\n"
    )
    after = transform(before, [FoldNormalisation(), EliminateDead()])
    assert calls(after) == ["if", "conv2d", "conv2d"]
    for truth in (True, False):
        given = inputs(before)
        given[2] = np.array(truth)
        same_values(evaluate(before, given), evaluate(after, given), 1e-5)


def test_types_that_are_said_still_hold() -> None:
    typed = "a: float32[2, 3, 2, 2] = conv2d(x, {w})\n  n: float32[2, 3, 2, 2] = NORM(a, STATS)"
    transform(program(f"  {typed}\n  return n\n"), [FoldNormalisation(), EliminateDead()])
    assert graph("func @g(x: int8[]):\n  return x") == FoldNormalisation().apply(
        graph("func @g(x: int8[]):\n  return x")
    )


def test_a_bias_of_as_many_rows_as_channels_stays() -> None:
    """It is none of channels, though it has as many numbers."""
    function = graph(
        """
func @f(x: float32[2, 3]):
  y = gemm(x, float32[3, 2](1.0, 2.0, 3.0, 4.0, 5.0, 6.0), float32[2, 1](10.0, 20.0))
  s = batch_norm(y, float32[2](2.0, 3.0), float32[2](0.5, 1.5), float32[2](1.0, 2.0), V)
  return s
""".replace("V)", "float32[2](1.0, 4.0))")
    )
    agree(function, transform(function, [FoldNormalisation()]), 1e-6)

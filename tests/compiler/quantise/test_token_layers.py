"""Products of tokens and weights become convolutions that mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.samples import synthetic
from tandem.compiler.quantise.token_layers import TokenLayers
from tandem.runtime.artifact import streams_of
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import agree
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, run_on, targets
from tests.support.compiler.quantise.networks import called, network

PARAMS = (
    "x: float32[1, 7, 6], x2: float32[1, 7, 5], xb: float32[2, 3, 4, 6], xv: float32[6], "
    "x1: float32[1, 1, 6], xm: float32[7, 6], xn: float32[N, 7, 6], w: float32[6, 5], "
    "v: float32[5, 6], b: float32[5], s: float32[], t: float32[1, 7, 1], k: float32[2, 6, 5], "
    "e: float32[5, 6], xc: float32[2, 3, 5, 7], xq: float32[5, 3], x0: float32[5, 1]"
)
TO = ["reshape", "transpose", "reshape"]


def changed(lines: list[str]) -> list[str]:
    """The operators after the pass, which means the same."""
    text = "\n".join([f"func @f({PARAMS}):", *(f"  {each}" for each in lines), "  return y"])
    start = network(text)
    found = transform(start, (TokenLayers(), EliminateDead()))
    if "xn" not in " ".join(lines):
        agree(start, found, 1e-4)
    return called(found)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["y = matmul(x, w)"], [*TO, "conv2d", *TO]),
        (["y = matmul(xb, w)"], [*TO, "conv2d", *TO]),
        # Between one layer and the next there is no change of layout.
        (
            ["a = matmul(x, w)", "c = add(a, b)", "d = relu(c)", "y = matmul(d, v)"],
            [*TO, "conv2d", "add", "relu", "conv2d", *TO],
        ),
        (
            ["a = matmul(x, w)", "c = multiply(a, s)", "d = add(c, a)", "y = matmul(d, v)"],
            [*TO, "conv2d", "multiply", "add", "conv2d", *TO],
        ),
        # What reads tokens has them.
        (["a = matmul(x, w)", "y = add(a, x2)"], [*TO, "conv2d", *TO, "add"]),
        (["a = matmul(x, w)", "y = add(a, t)"], [*TO, "conv2d", *TO, "add"]),
        (["a = matmul(x, w)", "y = reduce_sum(a, axes=[1])"], [*TO, "conv2d", *TO, "reduce_sum"]),
        (
            ["a = matmul(x, w)", "c = relu(a)", "d = reduce_sum(a, axes=[1])", "y = matmul(c, v)"],
            [*TO, "conv2d", "relu", "conv2d", *TO],
        ),
        # Tokens that another layer reads are brought into an image once.
        (
            ["a = matmul(x, w)", "c = matmul(x, w)", "y = add(a, c)"],
            [*TO, "conv2d", "conv2d", "add", *TO],
        ),
    ],
)
def test_products_of_tokens(lines: list[str], wanted: list[str]) -> None:
    assert changed(lines) == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["y = matmul(xv, w)"], ["reshape", "matmul", "reshape"]),
        (["y = matmul(x1, w)"], ["reshape", "matmul", "reshape"]),
        (
            ["a = matmul(x1, w)", "c = add(a, b)", "d = relu(c)", "y = matmul(d, v)"],
            ["reshape", "matmul", "add", "relu", "matmul", "reshape"],
        ),
        (["a = matmul(x1, w)", "y = add(a, x2)"], ["reshape", "matmul", "reshape", "add"]),
    ],
    ids=["a vector", "one token", "two layers", "a sum with many tokens"],
)
def test_a_single_token_is_a_row(lines: list[str], wanted: list[str]) -> None:
    assert changed(lines) == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["y = matmul(w, xc)"], ["reshape", "conv2d", "reshape"]),
        (["y = matmul(w, xq)"], ["reshape", "conv2d", "reshape"]),
        (
            ["a = matmul(w, xc)", "c = relu(a)", "y = matmul(v, c)"],
            ["reshape", "conv2d", "reshape", "relu", "reshape", "conv2d", "reshape"],
        ),
        # Columns that are made of tokens.
        (
            ["a = matmul(x, w)", "c = transpose(a, perm=[0, 2, 1])", "y = matmul(w, c)"],
            [*TO, "conv2d", *TO, "transpose", "reshape", "conv2d", "reshape"],
        ),
    ],
    ids=["several images", "one image", "two layers", "tokens"],
)
def test_weights_on_the_left(lines: list[str], wanted: list[str]) -> None:
    assert changed(lines) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "y = matmul(w, x0)",
        "y = matmul(k, xq)",
        "y = matmul(xm, w)",
        "y = matmul(xn, w)",
        "y = matmul(w, v)",
        "y = matmul(x, k)",
        "y = dense(xm, e)",
        "y = relu(x)",
    ],
    ids=[
        "a single column",
        "a stack on the left",
        "a matrix",
        "an open extent",
        "constants",
        "a stack",
        "dense",
        "none",
    ],
)
def test_what_stays(line: str) -> None:
    assert changed([line]) == [line.split()[2].partition("(")[0]]


def test_in_a_branch() -> None:
    """A branch reads the tokens under their name."""
    text = """
func @f(x: float32[1, 7, 6], xc: bool[], w: float32[6, 5]):
  a = matmul(x, w)
  y = if xc:
    c = relu(a)
    yield c
  else:
    yield a
  return y
"""
    start = network(text)
    found = transform(start, (TokenLayers(), EliminateDead()))
    agree(start, found, 1e-4)
    assert called(found)[: len(TO) + 1] == [*TO, "conv2d"]


@pytest.mark.parametrize(
    ("config", "outputs"), [("small8", 12), ("small8", 600), ("batch2", 12), ("extended", 12)]
)
def test_on_the_accelerator(config: str, outputs: int) -> None:
    """Both layers are one stream, equal to the CPU in every bit; also where the biases and
    multipliers of all features would take more than ACC has."""
    function = network(
        f"""
func @main(x: float32[1, 19, 12], w: float32[12, 40], b: float32[40], v: float32[40, {outputs}]):
  a = matmul(x, w)
  c = add(a, b)
  d = relu(c)
  y = matmul(d, v)
  return y
"""
    )
    device, samples = machine(config), synthetic(function)
    made = quantise_network(function, samples, NativeRunner(), targets=targets(device))
    alone, shared = both(made.function, device)
    (stream,) = [each for each in shared.manifest.steps if not each.on_host]
    assert len(streams_of(shared)[stream.code].layers) == 2
    x = np.random.default_rng(3).standard_normal((1, 19, 12)).astype(np.float32)
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs
    found = run_on(shared, "functional", x).outputs
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


def test_in_branches() -> None:
    """Layers within a branch go on with the images that were made before it."""
    start = network(
        f"""
func @f({PARAMS}, xp: bool[]):
  a = matmul(x, w)
  y = if xp:
    c = relu(a)
    d = matmul(c, v)
    yield d
  else:
    yield x
  return y
"""
    )
    found = transform(start, (TokenLayers(), EliminateDead()))
    values = [let.value for let in all_lets(found.body) if isinstance(let.value, Call)]
    assert [each.callee.name for each in values] == [*TO, "conv2d", "relu", "conv2d", *TO]
    agree(start, found, 1e-4)


@pytest.mark.parametrize("normalised", [True, False])
def test_a_residual_in_real_numbers_is_added_in_real_numbers(normalised: bool) -> None:
    """A normalised token is not rounded to int8 for the sum, nor is the sum for the next
    normalisation; where the residual is an integer, the accelerator adds it."""
    first = "layer_norm(x, s)" if normalised else "matmul(x, u)"
    function = network(
        f"""
func @main(x: float32[1, 7, 6], s: float32[6], u: float32[6, 6], w: float32[6, 6]):
  n = {first}
  a = matmul(n, w)
  c = add(a, n)
  y = layer_norm(c, s)
  return y
"""
    )
    made = quantise_network(function, synthetic(function), NativeRunner())
    operators = called(made.function)
    assert operators.count("conv2d") == (1 if normalised else 2)
    assert ("add" in operators) is normalised
    assert ("requantise_add" in operators) is not normalised

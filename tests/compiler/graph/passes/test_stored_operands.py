"""Layers that read float16 as it is stored: which do, and that no number changes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Call, Constant, Function, Let
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import EliminateDead, Fuse, StoredOperands, transform
from tandem.compiler.graph.visit import functions, map_functions, rename, rewrite_lets
from tandem.compiler.ir.dtypes import FLOAT16
from tests.support.compiler.graph.graphs import graph, inputs, same_values

HALVES = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float16).astype(np.float32)
DENSE = """
func @f(x: float16[3, 8], w: float32[4, 8]):
  a = cast(x, to=float32)
  y = dense(a, w)
  r = cast(y, to=float16)
  return r
"""


def with_weight(text: str, weight: np.ndarray) -> Function:
    """A function whose parameter `w` is a constant."""
    function = graph(text)
    known = {"w": Constant(weight)}

    def bound(one: Function) -> Function:
        params = tuple(each for each in one.params if each.name != "w")
        changed = rewrite_lets(
            one.body, lambda let: (Let(let.name, rename(let.value, known), let.type),)
        )
        return Function(one.name, params, changed, one.result)

    return map_functions(function, bound)


def operators(function: Function) -> list[str]:
    """The names of a body's operators."""
    return [let.value.callee.name for let in function.body.lets if isinstance(let.value, Call)]


def kernels(function: Function) -> list[list[str]]:
    """The operators of each kernel."""
    passes = StoredOperands(), EliminateDead(), Fuse(layers_widen=True)
    made = transform(function, passes)
    return [operators(each) for each in functions(made) if each is not made]


def test_weights_that_are_float16() -> None:
    before = with_weight(DENSE, HALVES)
    after = transform(before, (StoredOperands(), EliminateDead()))
    assert operators(after) == ["cast", "cast", "dense", "cast"]
    (weight,) = [
        arg
        for let in after.body.lets
        if isinstance(let.value, Call)
        for arg in let.value.args
        if isinstance(arg, Constant)
    ]
    assert weight.type.dtype == FLOAT16
    given = inputs(before)
    same_values(evaluate(before, given), evaluate(after, given))
    # The kernel has float16 alone.
    made = transform(after, (Fuse(layers_widen=True),))
    (kernel, _) = functions(made)
    assert {str(each.type) for each in kernel.params} == {"float16[3, 8]", "float16[4, 8]"}


@pytest.mark.parametrize(
    "weight", [HALVES + np.float32(1e-4), HALVES * np.float32(1e6), HALVES * np.float32(np.nan)]
)
def test_weights_with_other_numbers(weight: np.ndarray) -> None:
    before = with_weight(DENSE, weight)
    assert transform(before, (StoredOperands(),)) == before


@pytest.mark.parametrize(
    "text",
    [
        "func @f(x: float32[3, 8], w: float32[4, 8]):\n  y = dense(x, w)\n  return y",
        "func @f(x: bfloat16[3, 8], w: float32[4, 8]):\n  a = cast(x, to=float32)\n"
        "  y = dense(a, w)\n  return y",
        "func @f(x: float16[3, 8], w: float32[4, 8]):\n  a = cast(x, to=float32)\n"
        "  b = exp(a)\n  y = dense(b, w)\n  return y",
    ],
    ids=["float32", "bfloat16", "computed"],
)
def test_other_operands(text: str) -> None:
    before = with_weight(text, HALVES)
    assert transform(before, (StoredOperands(),)) == before


def test_a_weight_that_is_an_input_in_float32() -> None:
    assert transform(graph(DENSE), (StoredOperands(),)) == graph(DENSE)


SHARED = """
func @f(x: float16[2, 4, 6, 6], w: float16[4, 4, 3, 3]):
  a = cast(x, to=float32)
  p = pad(a, pads=[0, 0, 1, 1, 0, 0, 1, 1])
  v = cast(w, to=float32)
  c = conv2d(p, v)
  d = conv2d(p, v)
  e = multiply(c, d)
  s = add(e, a)
  return s
"""


def test_each_layer_has_casts_of_its_own() -> None:
    """Also of an image with a border; what else reads the cast keeps it."""
    before = graph(SHARED)
    layer = ["cast", "pad", "cast", "conv2d"]
    assert kernels(before) == [layer, ["cast", *layer, "multiply", "add"]]
    given = inputs(before)
    after = transform(before, (StoredOperands(), EliminateDead(), Fuse(layers_widen=True)))
    same_values(evaluate(before, given), evaluate(after, given))


def test_what_is_rounded_is_stored() -> None:
    """A chain of layers: what is between them is written in float16."""
    before = graph(
        """
func @f(x: float16[3, 8], w: float16[8, 8]):
  a = cast(x, to=float32)
  v = cast(w, to=float32)
  y = dense(a, v)
  r = relu(y)
  h = cast(r, to=float16)
  b = cast(h, to=float32)
  z = matmul(b, v)
  return z
"""
    )
    assert kernels(before) == [
        ["cast", "cast", "dense", "relu", "cast"],
        ["cast", "cast", "matmul"],
    ]
    # Without the option wide numbers are stored, by kernels that only widen.
    plain = transform(before, (Fuse(),))
    assert ["cast"] in [operators(each) for each in functions(plain) if each is not plain]


def test_twice_the_same_operand() -> None:
    before = graph(
        "func @f(x: float16[8, 8]):\n  a = cast(x, to=float32)\n  y = matmul(a, a)\n  return y"
    )
    assert kernels(before) == [["cast", "cast", "matmul"]]

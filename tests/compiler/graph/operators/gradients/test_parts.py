"""Gradients of concatenation, splits, slices and pads: each element's is where it went."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tests.support.compiler.graph.calls import gradients, value
from tests.support.compiler.graph.graphs import graph


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        ((2, 3), "concat(x, axis=1)"),
        ((2, 3), "concat(x, x, axis=1)"),
        ((2, 3), "concat(x, x, x, axis=-2)"),
        ((2, 5), "slice(x, starts=[1], ends=[4], axes=[1])"),
        ((4, 5), "slice(x, starts=[1, 0], ends=[9, 5], steps=[2, 3])"),
        ((2, 5), "slice(x, starts=[-1], ends=[-9], axes=[1], steps=[-2])"),
        ((2, 5), "slice(x, starts=[3], ends=[0], axes=[-1], steps=[-1])"),
        ((2, 5), "slice(x, starts=[4], ends=[4], axes=[1])"),
        ((2, 3), "slice(x, starts=[0], ends=[2])"),
        ((2, 3), "pad(x, pads=[1, 0, 0, 2])"),
        ((2, 5), "pad(x, pads=[0, -1, 0, -2])"),
        ((2, 3), "pad(x, pads=[0, 2, 1, 1], mode=edge)"),
        ((2, 3), "pad(x, pads=[1, 2, 0, 1], mode=reflect)"),
        ((1, 3), "pad(x, pads=[0, 3, 0, 5], mode=reflect)"),
        ((2, 3), "pad(x, pads=[0, 2, 3, 4], mode=wrap)"),
        ((1, 5), "pad(x, pads=[0, -1, 0, 2], mode=edge)"),
        ((1, 5), "pad(x, pads=[0, -2, 0, 2], mode=wrap)"),
        ((1, 5), "pad(x, pads=[0, 2, 0, -1], mode=reflect)"),
        ((2, 1), "pad(x, pads=[0, 2, 0, 1], mode=reflect)"),
    ],
)
def test_each_element_has_the_sum_of_its_copies(shape: tuple[int, ...], call: str) -> None:
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    param = f"x: float64{list(shape)}"
    (found,) = gradients(param, call, x)
    went = value(param, call, x)
    assert isinstance(went, np.ndarray)
    # Elements are numbered from 1; 0 is what is added around.
    wanted = np.zeros(x.size + 1)
    np.add.at(wanted, went.reshape(-1).astype(int), np.arange(1.0, went.size + 1))
    np.testing.assert_array_equal(found, wanted[1:].reshape(shape))


def test_parts_of_different_extents() -> None:
    a, b, c = np.zeros((2, 1)), np.zeros((2, 2)), np.zeros((2, 1))
    found = gradients(
        "a: float64[2, 1], b: float64[2, 2], c: float64[2, 1]", "concat(a, b, c, axis=1)", a, b, c
    )
    assert [each.tolist() for each in found] == [[[1], [5]], [[2, 3], [6, 7]], [[4], [8]]]


def test_parts_on_which_nothing_depends() -> None:
    x = np.zeros((2, 3))
    for number, wanted in ((0, [[1, 0, 0], [2, 0, 0]]), (1, [[0, 1, 2], [0, 3, 4]])):
        (found,) = gradients(
            "x: float64[2, 3]", "split(x, sizes=[1, 2], axis=1)", x, result=f"y[{number}]"
        )
        assert found.tolist() == wanted


def test_a_slice_beside_an_axis_that_is_a_symbol() -> None:
    function = graph("""
func @f(x: float64[N, 4]) -> float64[]:
  y = slice(x, starts=[0, 1], ends=[2147483647, 3])
  z = reduce_sum(y, keepdims=False)
  return z
""")
    _, (found,) = evaluate(value_and_grad(function), [np.zeros((2, 4))])
    assert np.asarray(found).tolist() == [[0, 1, 1, 0], [0, 1, 1, 0]]

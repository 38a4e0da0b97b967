"""ONNX Runtime's operators on integers with scales: what ONNX Runtime computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.compiler.frontends.random_nodes import Array, RandomNode

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.runtime_nodes import QUANTISED, node
from tests.support.compiler.frontends.runtime_runs import (
    Differences,
    computed,
    declare,
    differences,
    drawn,
    expected,
    feeds_of,
    model_of,
    refusal,
)

SEEDS = 50
ROUNDED_BEHIND = ("QLinearAdd", "QLinearAveragePool", "QLinearMul")
"""The operators whose halves ONNX Runtime rounds behind the sum with the zero point."""


@pytest.mark.parametrize("name", QUANTISED)
def test_one(name: str) -> None:
    found = drawn(QUANTISED[name], range(3))
    assert found.by_one == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", QUANTISED)
def test_many(name: str) -> None:
    """All elements are equal, except where halves go the other way: 1 in 100 at most."""
    found = drawn(QUANTISED[name], range(SEEDS))
    print(f"{name}: {found.by_one} of {found.integers} elements differ, by one")
    assert found.by_one <= (0.01 * found.integers if name in ROUNDED_BEHIND else 0)


def only_here(made: RandomNode, like: Array) -> Array:
    """The result here of a node that ONNX Runtime does not take."""
    model = model_of(made)
    declare(model.graph.output[0], like)
    (found,) = computed(model, feeds_of(made, model))
    return found


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_where_halves_go(operator: str) -> None:
    """All pairs of uint8, with an odd zero point: results differ from ONNX Runtime's only where the
    exact one, in integers by hand, is a half."""
    a, b = np.arange(256, dtype=np.uint8)[:, None], np.arange(256, dtype=np.uint8)[None]
    scale, zero = np.float32(0.5), np.uint8(7)
    step = np.float32(1.0 if operator == "QLinearAdd" else 64.0)
    parts = [np.asarray(each) for each in (scale, zero, step)]
    made = node(operator, a, parts[0], parts[1], b, parts[0], parts[1], parts[2], parts[1])
    model = model_of(made)
    feeds = feeds_of(made, model)
    (theirs,) = expected(model, feeds)
    (ours,) = computed(model, feeds)
    left, right = a.astype(np.int64) - 7, b.astype(np.int64) - 7
    # In units of the step's 2nd, or 256th, part.
    exact, parts_of_step = (left + right, 2) if operator == "QLinearAdd" else (left * right, 256)
    half = 2 * (exact % parts_of_step) == parts_of_step
    assert half.any()
    np.testing.assert_array_equal(ours[~half], theirs[~half])
    nearest = exact // parts_of_step + (2 * (exact % parts_of_step) > parts_of_step)
    nearest += half & (nearest % 2 == 1)
    np.testing.assert_array_equal(ours, np.clip(nearest + 7, 0, 255))


def test_a_missing_zero_point_is_0() -> None:
    data = np.arange(-128, 128, dtype=np.int8)
    scale = np.asarray(np.float32(0.05))
    zero = np.asarray(np.int8(0))
    for operator in ("QLinearSigmoid", "QLinearLeakyRelu"):
        without = only_here(node(operator, data, scale, None, scale), data)
        given = only_here(node(operator, data, scale, zero, scale, zero), data)
        np.testing.assert_array_equal(without, given)
    for operator in ("QLinearAdd", "QLinearMul"):
        without = only_here(node(operator, data, scale, None, data, scale, None, scale), data)
        given = only_here(node(operator, data, scale, zero, data, scale, zero, scale, zero), data)
        np.testing.assert_array_equal(without, given)


def test_a_softmax_saturates() -> None:
    """255 and 127 are the greatest integers, though 1 is 256 steps."""
    data = np.array([[100, 0, 0], [0, 0, 0]])
    step = np.asarray(np.float32(1 / 256))
    for dtype, zero in ((np.uint8, 0), (np.int8, -128)):
        zeros = np.asarray(dtype(0)), np.asarray(dtype(zero))
        scale = np.asarray(np.float32(0.5))
        operands = (data.astype(dtype), scale, zeros[0], step, zeros[1])
        found = differences(node("QLinearSoftmax", *operands, axis=-1, opset=13))
        assert found == Differences(6, 0)


def test_refusals() -> None:
    data, other = np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.int8)
    scale, zero = np.asarray(np.float32(1)), np.asarray(np.uint8(0))

    def why(made: RandomNode) -> str:
        return refusal(made, data)

    add = node("QLinearAdd", data, scale, zero, data, scale, zero, scale, zero)
    operands = add.operands
    assert "operands A and B are uint8 and int8" in why(
        replace(add, operands=(*operands[:3], other, *operands[4:]))
    )
    assert "operand A_scale is uint8: float32 is possible" in why(
        replace(add, operands=(data, zero, *operands[2:]))
    )
    assert "operand C_scale is missing" in why(replace(add, operands=operands[:6]))
    assert "9 operands, of 8" in why(replace(add, operands=(*operands, zero)))
    assert "attribute axis" in why(replace(add, attributes={"axis": 1}))
    several = np.ones(3, np.float32)
    assert "a scale or zero point float32[3] in place of one number" in why(
        replace(add, operands=(data, several, *operands[2:]))
    )
    joined = node("QLinearConcat", scale, zero, data, scale, zero, data, scale, axis=0)
    assert "7 operands: a scale and a zero point, then three for each part" in why(joined)
    joined = node("QLinearConcat", scale, zero, other, scale, zero, axis=0)
    assert "part 0 is int8, with a scale float32 and a zero point uint8" in why(joined)
    assert "attribute axis is missing" in why(node("QLinearConcat", scale, zero, data, scale, zero))
    assert "attribute axis is of another type" in why(replace(joined, attributes={"axis": 0.5}))

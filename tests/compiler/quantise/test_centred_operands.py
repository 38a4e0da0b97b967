"""Operands without zero points: their product is that of centred integers, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.graph import Body, Function, Param, TensorType, Tuple, Var
from tandem.compiler.graph.nodes import Let
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.centred_operands import CentredOperands, centred_depth
from tandem.compiler.quantise.forms import Int8Value, Scale
from tests.support.compiler.quantise.quantised_reference import reference

Matrices = NDArray[np.int8]


def check(a: Matrices, b: Matrices, u: int, v: int) -> CentredOperands:
    builder = Builder(["a", "b", "both"])
    values = Int8Value(Var("a"), Scale(1.0, u)), Int8Value(Var("b"), Scale(1.0, v))
    depth = a.shape[-1]
    found = CentredOperands.of(builder, "y", *values, (a.ndim, b.ndim), depth)
    lets = (*builder.lets, Let("both", Tuple((found.left, found.right))))
    params = tuple(Param(name, TensorType(each.shape, INT8)) for name, each in (("a", a), ("b", b)))
    made = reference(Function("main", params, Body(lets[:-1], found.left)), [a, b])
    left, right = made[found.left.name], made[found.right.name]
    assert left.dtype == right.dtype == np.int8
    assert left.shape[-1] == right.shape[-2] == found.depth == centred_depth(depth, u, v)
    wide = left.astype(np.int64) @ right.astype(np.int64) + found.constant
    np.testing.assert_array_equal(wide, (a.astype(np.int64) - u) @ (b.astype(np.int64) - v))
    return found


@given(
    seed=st.integers(0, 1 << 32),
    zeros=st.tuples(*[st.sampled_from([0, 1, -3, 17, 127, -128])] * 2),
    extents=st.tuples(*[st.integers(1, 40)] * 3),
    stack=st.sampled_from([(), (2,), (2, 3)]),
)
def test_products_of_centred_integers(
    seed: int, zeros: tuple[int, int], extents: tuple[int, int, int], stack: tuple[int, ...]
) -> None:
    random = np.random.default_rng(seed)
    rows, depth, columns = extents
    low, high = sorted(random.choice([-128, -127, 0, 126, 127], 2, replace=False))
    a = random.integers(low, high + 1, (*stack, rows, depth), dtype=np.int8)
    b = random.integers(-128, 128, (*stack, depth, columns), dtype=np.int8)
    check(a, b, *zeros)


@pytest.mark.parametrize("zero", [-128, 127])
@pytest.mark.parametrize("value", [-128, 127])
def test_the_largest_sums(zero: int, value: int) -> None:
    """All integers are extreme, so that all digits are as large as they get."""
    check(np.full((3, 64), value, np.int8), np.full((64, 2), value, np.int8), zero, zero)


def test_depths() -> None:
    """No zero point costs nothing, one near 0 a few columns, one of -128 as many as the depth."""
    assert centred_depth(64, 0, 0) == 64
    assert centred_depth(64, 3, 0) == 64 + 3
    assert centred_depth(64, 0, -128) == 64 + 67
    found = check(np.ones((2, 4, 8), np.int8), np.ones((2, 8, 4), np.int8), 0, 0)
    assert (found.left, found.right, found.constant) == (Var("a"), Var("b"), 0)

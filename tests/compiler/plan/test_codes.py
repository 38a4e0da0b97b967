"""Constants as codes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Constant
from tandem.compiler.graph.operators.compressed import Widen
from tandem.compiler.ir.dtypes import UINT2, UINT4
from tandem.compiler.plan.codes import Codes
from tandem.hw.weight_formats import INT4, TERNARY


def test_each_group_has_its_scale_and_the_last_may_be_partial() -> None:
    codes = Constant(np.array([[1, 15, 8, 2, 3]]).astype(UINT4.numpy))
    scales = Constant(np.array([[2, 3, 0]]).astype(UINT4.numpy))
    found = Codes(codes, scales, Widen(INT4.table, 1, 2))
    assert found.scale_of_each.tolist() == [[2, 2, 3, 3, 0]]
    assert found.widened.array.tolist() == [[2, -2, -24, 6, 0]]
    assert (found.format.bits, found.format.scaled) == (4, True)


@pytest.mark.parametrize("axis", [0, -2])
def test_groups_along_another_axis(axis: int) -> None:
    codes = Constant(np.ones((3, 2)).astype(UINT4.numpy))
    scales = Constant(np.array([[1, 2], [3, 4]]).astype(UINT4.numpy))
    found = Codes(codes, scales, Widen(INT4.table, axis, 2))
    assert found.widened.array.tolist() == [[1, 2], [1, 2], [3, 4]]


def test_without_scales() -> None:
    codes = Constant(np.array([0, 1, 3]).astype(UINT2.numpy))
    found = Codes(codes, None, Widen(TERNARY.table))
    assert found.widened.array.tolist() == [0, 1, -1]
    assert (found.format.bits, found.format.scaled) == (2, False)


def test_kernels_as_rows_have_the_same_numbers() -> None:
    rng = np.random.default_rng(4)
    codes = Constant(rng.integers(0, 16, (2, 5, 3, 3)).astype(UINT4.numpy))
    scales = Constant(rng.integers(1, 16, (2, 3, 3, 3)).astype(UINT4.numpy))
    found = Codes(codes, scales, Widen(INT4.table, 1, 2))
    rows = found.flattened
    assert np.array_equal(rows.widened.array, found.widened.array.reshape(2, 45, 1, 1))
    assert rows.call.args == (rows.codes, rows.scales)
    plain = Codes(codes, None, Widen(INT4.table))
    assert plain.flattened.scales is None
    assert plain.flattened.call.args == (plain.flattened.codes,)
    assert np.array_equal(plain.flattened.widened.array, plain.widened.array.reshape(2, 45, 1, 1))

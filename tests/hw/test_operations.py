"""The meaning of each ALU operation, on numbers and on arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.operations import MAX_SHIFT, AluOp
from tests.support.hw.alu_cases import CASES, HIGH, LOW, Case, alu_result

INT32 = st.one_of(st.integers(LOW, HIGH), st.sampled_from([LOW, LOW + 1, -1, 0, 1, HIGH]))
AMOUNT = st.integers(-MAX_SHIFT, MAX_SHIFT)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: Case) -> None:
    found = case.op.apply(case.a, case.b)
    assert (found, type(found)) == (case.result, int)
    assert alu_result(case.op, case.a, case.b) == case.result


@pytest.mark.parametrize("op", AluOp)
def test_arrays(op: AluOp) -> None:
    """Every operation has cases."""
    a, b, results = zip(*(case[1:] for case in CASES if case.op is op), strict=True)
    found = op.apply(np.array(a, np.int32), np.array(b, np.int32))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, results)


@pytest.mark.parametrize("op", AluOp)
@given(data=st.data())
def test_drawn_operands(op: AluOp, data: st.DataObject) -> None:
    a, b = data.draw(INT32), data.draw(AMOUNT if op is AluOp.SHR else INT32)
    assert op.apply(a, b) == alu_result(op, a, b)
    (found,) = op.apply(np.array([a], np.int32), b).tolist()
    assert found == alu_result(op, a, b)

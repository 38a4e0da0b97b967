from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.codegen.vector_strips import MAX_LANES, WRITTEN_OUT, cut
from compiler.errors import CodegenError
from compiler.ir import FLOAT32, FLOAT64, INT8, Buffer, Const, DType, For, LoopKind, Store, Var
from compiler.ir.ops import const


def loop(extent: int, dtype: DType) -> For:
    buffer, i = Buffer("A", (extent,), dtype), Var("i")
    return For(i, Const(extent), LoopKind.VECTORIZED, Store(buffer, (i,), const(0, dtype)))


@given(
    st.integers(0, 2000),
    st.sampled_from([INT8, FLOAT32, FLOAT64]),
    st.sampled_from([128, 256, 512]),
)
def test_each_turn_is_in_one_lane(extent: int, dtype: DType, bits: int) -> None:
    cuts = cut(loop(extent, dtype), bits)
    turns = [
        each.begin + turn * each.lanes + lane
        for each in cuts
        for turn in range(each.turns)
        for lane in range(each.lanes)
    ]
    assert turns == list(range(extent))
    register = min(bits // dtype.bits, MAX_LANES)
    for each in cuts:
        assert each.lanes & (each.lanes - 1) == 0 or each.lanes < register
        assert each.lanes <= MAX_LANES
    for each in cuts[:-1]:
        assert each.lanes >= register
    assert sum(each.turns == 1 for each in cuts) <= WRITTEN_OUT + 8


def test_extents_are_numbers() -> None:
    body = Store(Buffer("A", (4,), INT8), (Var("i"),), const(0, INT8))
    with pytest.raises(CodegenError, match="i is vectorized: its extent must be a number"):
        cut(For(Var("i"), Var("n"), LoopKind.VECTORIZED, body), 256)

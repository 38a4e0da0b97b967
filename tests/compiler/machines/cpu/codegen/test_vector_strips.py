from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir import (
    FLOAT32,
    FLOAT64,
    INT8,
    Buffer,
    Const,
    DType,
    For,
    LoopKind,
    Store,
    Var,
)
from tandem.compiler.ir.ops import const
from tandem.compiler.machines.cpu.codegen.vector_strips import (
    MAX_LANES,
    MAX_UNROLLED,
    registers_of,
    strips_of,
)


def loop(extent: int, dtype: DType) -> For:
    buffer, i = Buffer("A", (extent,), dtype), Var("i")
    return For(i, Const(extent), LoopKind.VECTORIZED, Store(buffer, (i,), const(0, dtype)))


@given(
    st.integers(0, 2000),
    st.sampled_from([INT8, FLOAT32, FLOAT64]),
    st.sampled_from([128, 256, 512]),
)
def test_each_iteration_is_in_one_lane(extent: int, dtype: DType, bits: int) -> None:
    strips = strips_of(loop(extent, dtype), bits)
    iterations = [
        strip.begin + vector * strip.lanes + lane
        for strip in strips
        for vector in range(strip.vectors)
        for lane in range(strip.lanes)
    ]
    assert iterations == list(range(extent))
    register = min(bits // dtype.bits, MAX_LANES)
    for strip in strips:
        assert strip.lanes & (strip.lanes - 1) == 0 or strip.lanes < register
        assert strip.lanes <= MAX_LANES
    for strip in strips[:-1]:
        assert strip.lanes >= register
    assert sum(each.vectors == 1 for each in strips) <= MAX_UNROLLED + 8


def test_extents_are_numbers() -> None:
    body = Store(Buffer("A", (4,), INT8), (Var("i"),), const(0, INT8))
    with pytest.raises(CodegenError, match="i is vectorized: its extent must be a number"):
        strips_of(For(Var("i"), Var("n"), LoopKind.VECTORIZED, body), 256)


@pytest.mark.parametrize(
    ("extent", "dtype", "bits", "count"),
    [(40, FLOAT32, 512, 3), (64, FLOAT32, 512, 4), (64, INT8, 512, 1), (9, FLOAT64, 128, 5)],
)
def test_registers(extent: int, dtype: DType, bits: int, count: int) -> None:
    assert registers_of(loop(extent, dtype), bits) == count

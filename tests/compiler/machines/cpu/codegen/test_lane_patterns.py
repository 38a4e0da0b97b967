"""Elements that are known by lane are picked out of registers, as the interpreter reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Const, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import LaneVar
from tandem.compiler.machines.cpu.codegen.lane_patterns import values_by_lane
from tandem.compiler.machines.cpu.codegen.module import build_module
from tests.support.compiler.machines.cpu.emitted import frame_of
from tests.support.compiler.machines.cpu.native import EXACT, HOST, assembly, run_text

PLAIN = HOST.without("avx512vbmi")
TARGETS = {"bytes": HOST, "words": PLAIN, "narrow": EXACT.without("avx512f")}
ZEROS = {"int8": "0", "bool": "False", "int32": "0", "float32": "0.0", "int64": "0"}


def numbers(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    values = np.random.default_rng(1).integers(0, 100, shape)
    return values < 50 if dtype == "bool" else values.astype(dtype)


def image(rows: int, columns: int, border: int, lanes: int, dtype: str) -> str:
    """A copy of images with borders, whose rows lie one behind the other in lanes."""
    width = columns + 2 * border
    y, x = f"i // {width} - {border}", f"i % {width} - {border}"
    inside = f"(0 <= {y}) & ({y} < {rows}) & (0 <= {x}) & ({x} < {columns})"
    return f"""
func f(A: {dtype}[3, {rows}, {columns}]) -> (C: {dtype}[3, {lanes}]):
  for n in 3:
    for i in {lanes} vectorized:
      C[n, i] = select({inside}, A[n, {y}, {x}], {ZEROS[dtype]})
"""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        (1, "int8"),
        (2, "int32"),
        (5, "int8"),
        (7, "bool"),
        (16, "int64"),
        (33, "float32"),
        (60, "int8"),
    ],
)
def test_images_with_borders(columns: int, dtype: str, target: CpuTarget) -> None:
    """To the very ends of the arrays, whose rows before and behind nobody may read."""
    for border, rows in ((0, 3), (1, 9), (2, 1)):
        lanes = (rows + 2 * border) * (columns + 2 * border)
        text = image(rows, columns, border, lanes, dtype)
        run_text(text, numbers((3, rows, columns), dtype), target=target)


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 70),
    border=st.integers(0, 3),
    dtype=st.sampled_from(sorted(ZEROS)),
    cut=st.integers(0, 20),
)
@settings(max_examples=25, deadline=None)
def test_any_image(rows: int, columns: int, border: int, dtype: str, cut: int) -> None:
    lanes = max(1, (rows + 2 * border) * (columns + 2 * border) - cut)
    run_text(
        image(rows, columns, border, lanes, dtype), numbers((3, rows, columns), dtype), target=HOST
    )


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_guards(target: CpuTarget) -> None:
    """Known and unknown ones, and stores whose places are known too."""
    text = """
func f(A: int8[9, 5], M: int8[9, 5], L: int64[1]) -> (C: int8[9, 5], D: int8[45], E: int8[45]):
  for z in 45:
    D[z] = 1
    E[z] = 2
  for i in 45 vectorized:
    C[i // 5, i % 5] = A[8 - i // 5, i % 5]
  for j in 45 vectorized:
    if (j % 5 < 3) & (2 <= j // 5):
      D[j // 5 * 5 + j % 5] = A[j // 5 - 2, j % 5 + 2]
  for k in 45 vectorized:
    if M[k // 5, k % 5] < 40:
      E[k] = A[8 - k // 5, 4 - k % 5]
"""
    arrays = [numbers((9, 5), "int8"), numbers((9, 5), "int8"), np.array([4])]
    run_text(text, *arrays, target=target)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_lane_reads(target: CpuTarget) -> None:
    text = """
func f(A: int8[4]) -> (C: int8[20]):
  for i in 20 vectorized:
    C[i] = select(30 <= i // 2 + i % 2, A[i // 2 - 30], 7)
"""
    run_text(text, numbers((4,), "int8"), target=target)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_places_that_depend_on_data_are_not_known(target: CpuTarget) -> None:
    text = """
func f(A: float32[6, 7], P: int64[14]) -> (C: float32[14]):
  for i in 14 vectorized:
    C[i] = A[P[i] % 6, i % 7]
"""
    run_text(text, numbers((6, 7), "float32"), numbers((14,), "int64"), target=target)


@pytest.mark.skipif("avx512vbmi" not in HOST.features, reason="permutations of bytes")
def test_short_rows_take_few_instructions() -> None:
    text, _ = build_module(lower(parse(image(9, 5, 1, 63, "int8"))), HOST)
    code = assembly(text, HOST)
    assert "vperm" in code
    assert "vpinsrb" not in code


def test_what_is_known_of_a_lane() -> None:
    """Lanes are numbers 2 to 5 of a loop that is written out around it; `j` is known to nobody."""
    frame = frame_of(EXACT, numbers=["j"])
    i, j, k = Var("i"), Var("j"), Var("k")
    assert values_by_lane(frame, k) is None
    frame.lanes = 4
    frame.bindings |= {"i": LaneVar(2, 4), "k": 7}
    assert values_by_lane(frame, i) == (2, 3, 4, 5)
    assert values_by_lane(frame, k) == (7, 7, 7, 7)
    assert values_by_lane(frame, Binary(BinaryOp.MUL, i, k)) == (14, 21, 28, 35)
    below = Binary(BinaryOp.LT, i, Const(4, INDEX))
    assert values_by_lane(frame, below) == (1, 1, 0, 0)
    assert values_by_lane(frame, Unary(UnaryOp.NOT, below)) == (0, 0, 1, 1)
    either = Binary(BinaryOp.OR, below, Binary(BinaryOp.EQ, i, Const(5, INDEX)))
    assert values_by_lane(frame, either) == (1, 1, 0, 1)
    unknown = Binary(BinaryOp.LT, j, Const(4, INDEX))
    for expr in (j, unknown, Unary(UnaryOp.NOT, unknown), Binary(BinaryOp.AND, below, unknown)):
        assert values_by_lane(frame, expr) is None

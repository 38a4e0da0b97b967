"""Compressed weights as int8, compared with what formats say that they mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.graph.evaluate import evaluate as evaluate_graph
from tandem.compiler.graph.printer import text
from tandem.compiler.ir.dtypes import BOOL, INT4, UINT2, UINT4, UINT8, DType
from tandem.compiler.operators.widen import widen
from tandem.compiler.te import placeholder
from tandem.hw.weight_formats import FORMATS, WeightFormat
from tandem.hw.weight_formats import INT4 as INT4_FORMAT
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import evaluate, given_as, same

TYPES = {1: BOOL, 2: UINT2, 4: UINT4}


@st.composite
def formats(draw: st.DrawFn) -> WeightFormat:
    """A format with a name, or with any table."""
    bits = draw(st.sampled_from([1, 2, 4]))
    entries = st.integers(-128, 127)
    table = draw(st.lists(entries, min_size=1 << bits, max_size=1 << bits))
    free = WeightFormat("free", bits, tuple(table), draw(st.booleans()))
    return draw(st.sampled_from([*FORMATS, free]))


@given(
    form=formats(),
    shape=shapes(least=1, most=3),
    axis=st.integers(-3, 2),
    group=st.integers(1, 5),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_what_formats_mean(
    form: WeightFormat, shape: tuple[int, ...], axis: int, group: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 1 << form.bits, shape, np.uint8)
    stored = codes.astype(TYPES[form.bits].numpy)
    axis = axis % len(shape)
    blocks = (*shape[:axis], -(-shape[axis] // group), *shape[axis + 1 :])
    scales = draw.integers(0, 16, blocks, np.uint8)
    spread = np.repeat(scales, group, axis)[tuple(slice(extent) for extent in shape)]
    arrays = {"C": stored}
    operands = [given_as("C", stored)]
    if form.scaled:
        arrays["S"] = scales.astype(UINT4.numpy)
        operands.append(given_as("S", arrays["S"]))
    found = evaluate(
        widen(*operands, table=form.table, axis=axis, group=group if form.scaled else 0), arrays
    )
    same(found, form.widened(codes, spread))


@pytest.mark.parametrize(
    ("dtype", "count", "scales", "axis", "group", "message"),
    [
        (UINT8, 256, None, 1, 0, "has to be one of bool, uint2, uint4"),
        (INT4, 16, None, 1, 0, "has to be one of bool, uint2, uint4"),
        (UINT4, 4, None, 1, 0, "a table of 4 entries; codes of 4 bits need 16"),
        (UINT2, 16, None, 1, 0, "a table of 16 entries; codes of 2 bits need 4"),
        (UINT2, 4, None, 1, 3, "groups of 3, and no scales"),
        (UINT2, 4, ((2, 3), UINT4), 1, 0, "groups of 0: with scales"),
        (UINT2, 4, ((2, 3), UINT4), 2, 3, r"has no axis 2: -2\.\.1"),
        (UINT2, 4, ((2, 3), UINT8), 1, 3, r"S uint8\[2, 3\] has to be uint4\[2, 3\]"),
        (UINT2, 4, ((2, 2), UINT4), 1, 3, r"has to be uint4\[2, 3\]: groups of 3 along axis 1"),
    ],
)
def test_refusals(
    dtype: DType,
    count: int,
    scales: tuple[tuple[int, ...], DType] | None,
    axis: int,
    group: int,
    message: str,
) -> None:
    operands = [placeholder((2, 7), dtype, "C")]
    if scales is not None:
        operands.append(placeholder(*scales, "S"))
    with pytest.raises(TensorError, match=message):
        widen(*operands, table=range(count) if count < 128 else [0] * count, axis=axis, group=group)


def test_entries_that_are_no_int8_are_refused() -> None:
    with pytest.raises(TensorError, match="the table has 128: entries are int8, -128 to 127"):
        widen(placeholder((2,), UINT2, "C"), table=(0, 1, 2, 128))


def test_text_both_ways() -> None:
    table = list(INT4_FORMAT.table)
    program = f"""func @f(c: uint4[2, 5], s: uint4[2, 2], b: bool[3]) -> (int8[2, 5], int8[3]):
  w = widen(c, s, table={table}, group=3)
  t = widen(b, table=[-1, 1])
  out = (w, t)
  return out
"""
    function = graph(program)
    assert text(function) == program
    codes = np.array([[0, 1, 7, 8, 15], [9, 2, 3, 4, 5]], np.uint8)
    scales = np.array([[1, 2], [15, 0]], np.uint8)
    given = [codes.astype(UINT4.numpy), scales.astype(UINT4.numpy), np.array([True, False, True])]
    found = evaluate_graph(function, given)
    assert isinstance(found, tuple)
    wide, signs = map(np.asarray, found)
    same(wide, np.array([[0, 1, 7, -16, -2], [-105, 30, 45, 0, 0]], np.int8))
    same(signs, np.array([1, -1, 1], np.int8))

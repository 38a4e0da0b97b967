"""Compressed weights as int8: codes of few bits, through a table, times the scales of groups."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler import te
from tandem.compiler.ir.dtypes import (
    BOOL,
    INT8,
    INT32,
    UINT2,
    UINT4,
    UINT8,
    UINT32,
    UINT64,
    DType,
)
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import axis_of, refuse, show
from tandem.compiler.te import Tensor, compute

CODES = (BOOL, UINT2, UINT4)
"""The types of codes: of 1, 2 and 4 bits."""
SCALES = UINT4
"""The type of the scale of a group."""
_BYTE = 8
_WORDS = {UINT2: UINT32, UINT4: UINT64}
"""The type that holds the entries of a table for two bits of a code, or for three."""


def widen(
    codes: Tensor,
    scales: Tensor | None = None,
    *,
    table: Sequence[int],
    axis: int = 1,
    group: int = 0,
    name: str = "widen",
) -> Tensor:
    """`table[code]`, times the scale of its group: int8, of which a product keeps its low bits.

    What `hw.weight_formats.WeightFormat` says, as an operator.

    Parameters
    ----------
    codes
        uint4, uint2, or bool for codes of one bit.
    scales
        uint4, in the shape of `codes` with `ceil(extent / group)` along `axis`: the last group may
        be partial. None for formats without scales.
    table
        The int8 value of each code, 2^bits of them.
    axis, group
        The axis along which `group` weights share a scale; `group` is 0 without scales.

    Raises
    ------
    TensorError
        Types, extents or attributes do not fit.
    """
    dtype = codes.dtype
    if dtype not in CODES:
        allowed = ", ".join(map(str, CODES))
        refuse("widen", name, f"{show(codes)} has to be one of {allowed}")
    if len(table) != 1 << dtype.bits:
        refuse(
            "widen",
            name,
            f"a table of {len(table)} entries; codes of {dtype.bits} bits need {1 << dtype.bits}",
        )
    if outside := [entry for entry in table if not INT8.low <= entry <= INT8.high]:
        refuse("widen", name, f"the table has {outside[0]}: entries are int8, {INT8.low} to 127")
    if scales is None:
        if group:
            refuse("widen", name, f"groups of {group}, and no scales: without scales group is 0")
        return compute(codes.shape, lambda *at: entry_of(codes[at], table), name)
    along = _checked_groups(codes, scales, axis, group, name)

    def element(*at: Expr) -> Expr:
        scale = scales[(*at[:along], at[along] // group, *at[along + 1 :])]
        return entry_of(codes[at], table) * te.cast(scale, INT8)

    return compute(codes.shape, element, name)


def _checked_groups(codes: Tensor, scales: Tensor, axis: int, group: int, name: str) -> int:
    """The axis of groups, counted from 0; `TensorError` unless the scales fit the codes."""
    if group < 1:
        refuse("widen", name, f"groups of {group}: with scales a group has 1 weight or more")
    along = axis_of("widen", name, codes, axis)
    shape = list(codes.shape)
    shape[along] = -(-shape[along] // group)
    if scales.dtype != SCALES or list(scales.shape) != shape:
        refuse(
            "widen",
            name,
            f"{show(scales)} has to be {SCALES}{shape}: groups of {group} along axis {along} "
            f"of {show(codes)}",
        )
    return along


def entry_of(code: Expr, table: Sequence[int]) -> Expr:
    """The entry of a code, an int8; entries of equal distances are computed, others shifted out of
    a constant."""
    if code.dtype == BOOL:
        return te.select(code, te.const(table[1], INT8), te.const(table[0], INT8))
    bits = code.dtype.bits
    for signed in (False, True):
        numbers = [number - (number >> (bits - 1) << bits) * signed for number in range(1 << bits)]
        step, start = table[1] - table[0], table[0]
        if [start + step * number for number in numbers] == [*table]:
            value = te.cast(code, UINT8)
            if signed:
                # Sign extension of a code of few bits.
                value = te.cast(value, INT8) << (_BYTE - bits) >> (_BYTE - bits)
            return te.cast(te.cast(value, INT32) * step + start, INT8)
    word, many = _WORDS[code.dtype], _WORDS[code.dtype].bits // _BYTE
    halves = [_word(table[first : first + many], word) for first in range(0, len(table), many)]
    number = te.cast(code, word)
    if len(halves) == 1:
        found: Expr = halves[0]
    else:
        found = te.select(number < many, halves[0], halves[1])
    return te.cast(found >> (number % many * _BYTE), INT8)


def _word(entries: Sequence[int], dtype: DType) -> Expr:
    """The bytes of entries in a constant, the first in its low bits."""
    return te.const(sum((entry & 0xFF) << (_BYTE * at) for at, entry in enumerate(entries)), dtype)

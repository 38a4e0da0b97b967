"""Compressed weights as int8: codes of few bits, through a table, times the scales of groups."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler import te
from tandem.compiler.ir.code_tables import entry_of
from tandem.compiler.ir.dtypes import BOOL, INT8, UINT2, UINT4
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import axis_of, refuse, show
from tandem.compiler.te import Tensor, compute

CODES = (BOOL, UINT2, UINT4)
"""The types of codes: of 1, 2 and 4 bits."""
SCALES = UINT4
"""The type of the scale of a group."""


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

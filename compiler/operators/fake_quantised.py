"""Fake quantisation: the real numbers that quantised ones stand for, for training."""

from __future__ import annotations

from itertools import pairwise

from tandem.compiler import te
from tandem.compiler.errors import IRError
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS, elementwise


@elementwise(*FLOATS, keeps_shape=True)
def fake_quantise(data: Expr, scale: Expr, *, low: int = -128, high: int = 127) -> Expr:
    """clip(round(data / scale), low, high) * scale, halves rounded to even; NaN stays NaN.

    What `dequantise` makes of the result of `quantise`, with a zero point z of an integer type
    from `low` + z to `high` + z. Its gradient is straight-through: that of data which are within
    the range, 0 beyond it; scales count as constants.
    """
    if low >= high:
        raise IRError(f"a range of {low}..{high}: low has to be less than high")
    kept = te.minimum(te.maximum(te.round(data / scale), low), high)
    return te.select(te.equal(data, data), kept * scale, data)


@elementwise(*FLOATS, keeps_shape=True)
def fake_encode(data: Expr, scale: Expr, *, table: tuple[int, ...]) -> Expr:
    """The entry of a table nearest to data / scale, of two the greater one, times scale; NaN stays
    NaN.

    What a code of a compressed weight stands for (`hw.weight_formats`), for a scale that is the
    product of the scales of its group and of its channel. Its gradient is straight-through: that
    of data, wherever they are; scales count as constants.
    """
    entries = sorted({*table})
    if len(entries) < 2:
        raise IRError(f"a table of {list(table)}: at least two different entries are needed")
    # Entries are integers, so that a middle of two is a multiple of a half: exact when doubled.
    doubled = data / scale * 2.0
    nearest = te.const(entries[0], data.dtype)
    for below, above in pairwise(entries):
        nearest = te.select(doubled >= below + above, te.const(above, data.dtype), nearest)
    return te.select(te.equal(data, data), nearest * scale, data)

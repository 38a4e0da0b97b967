"""Quantisation, dequantisation, and requantisation of accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32, INT64, DType, Kind, smallest_int
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS, INTEGERS
from tandem.compiler.operators.checks import axis_of, check_kind, refuse, show
from tandem.compiler.te import Tensor, compute

_LARGEST_SHIFT = 31
_NARROW = 16
"""The maximum width of a quantised result or a skip operand, in bits: float32 is exact."""


def quantise(
    data: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    *,
    axis: int = 1,
    to: DType = INT8,
    name: str = "quantise",
) -> Tensor:
    """round(data / scale) + zero_point, halves rounded to even, clipped to the range of `to`.

    ONNX's QuantizeLinear. NaN becomes the zero point.

    Parameters
    ----------
    scale, zero_point
        [], [1], or [C], a number for each index of `axis`; `scale` of `data`'s type, `zero_point`
        of type `to`.
    to
        An integer type of 16 bits or fewer.

    Raises
    ------
    TensorError
        Types do not fit; the axis is missing or has another extent.
    """
    check_kind("quantise", name, data, *FLOATS)
    if not to.is_integer or to.bits > _NARROW:
        refuse("quantise", name, f"into {to}: integers of up to {_NARROW} bits are possible")
    steps = _per_axis("quantise", name, data, scale, data.dtype, axis)
    zeros = _per_axis("quantise", name, data, zero_point, to, axis)

    def element(*i: Expr) -> Expr:
        zero = te.cast(zeros(i), data.dtype)
        nearest = te.round(data[i] / steps(i))
        # Clipped as a float, because no integer may hold the unclipped number.
        kept = te.minimum(te.maximum(nearest, to.low - zero), to.high - zero)
        return te.cast(te.cast(kept, INT32) + te.cast(zeros(i), INT32), to)

    return compute(data.shape, element, name)


def dequantise(
    data: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    *,
    axis: int = 1,
    name: str = "dequantise",
) -> Tensor:
    """(data - zero_point) * scale, in `scale`'s type. ONNX's DequantizeLinear.

    The difference is computed in 32 bits, or in 64 if `data` has more than 32.

    Raises
    ------
    TensorError
        The errors of `quantise`.
    """
    check_kind("dequantise", name, data, *INTEGERS)
    check_kind("dequantise", name, scale, *FLOATS)
    steps = _per_axis("dequantise", name, data, scale, scale.dtype, axis)
    zeros = _per_axis("dequantise", name, data, zero_point, data.dtype, axis)
    wide = INT32 if data.dtype.bits <= INT32.bits else INT64

    def element(*i: Expr) -> Expr:
        difference = te.cast(data[i], wide) - te.cast(zeros(i), wide)
        return te.cast(difference, scale.dtype) * steps(i)

    return compute(data.shape, element, name)


def dequantise_blocks(
    data: Tensor,
    scale: Tensor,
    zero_point: Tensor | None = None,
    *,
    axis: int,
    block: int,
    middle: int = 0,
    name: str = "dequantise_blocks",
) -> Tensor:
    """(data - zero_point) * scale, in `scale`'s type, with numbers for blocks along an axis.

    Parameters
    ----------
    data
        Integers of 8 bits or fewer.
    scale, zero_point
        In the shape of `data` with `ceil(extent / block)` along `axis`; `zero_point` of `data`'s
        type or of `scale`'s.
    middle
        The zero point if there is none for blocks.

    Raises
    ------
    TensorError
        Types or extents do not fit; the axis is missing.
    """
    operator = "dequantise_blocks"
    check_kind(operator, name, data, *INTEGERS)
    check_kind(operator, name, scale, *FLOATS)
    along = axis_of(operator, name, data, axis)
    if data.dtype.bits > INT8.bits or block < 1:
        refuse(operator, name, f"{show(data)} in blocks of {block}: 8 bits at most, blocks of 1")
    shape = (*data.shape[:along], -(-data.shape[along] // block), *data.shape[along + 1 :])
    for given in (scale,) if zero_point is None else (scale, zero_point):
        if given.shape != shape:
            refuse(operator, name, f"{show(given)} has to have the extents {list(shape)}")
    if zero_point is not None and zero_point.dtype not in (data.dtype, scale.dtype):
        refuse(operator, name, f"{show(zero_point)} has to be {data.dtype} or {scale.dtype}")

    def element(*i: Expr) -> Expr:
        at = (*i[:along], i[along] // block, *i[along + 1 :])
        if zero_point is not None and zero_point.dtype.is_float:
            return (te.cast(data[i], scale.dtype) - zero_point[at]) * scale[at]
        zero = te.const(middle, INT32) if zero_point is None else te.cast(zero_point[at], INT32)
        return te.cast(te.cast(data[i], INT32) - zero, scale.dtype) * scale[at]

    return compute(data.shape, element, name)


def requantise(
    acc: Tensor,
    multiplier: Tensor,
    addend: Tensor,
    *,
    shift: int,
    low: int,
    high: int,
    axis: int = 1,
    name: str = "requantise",
) -> Tensor:
    """clip((acc * multiplier + addend) >> shift, low, high), exact; see `RequantSpec`.

    The result has the narrowest signed type that holds `low` and `high`: int8, int16 or int32.

    Parameters
    ----------
    acc
        int32.
    multiplier, addend
        [], [1], or [C], a number for each index of `axis`; int32 of 0 or more, and int64 of
        magnitude up to 2^62.
    shift
        0 to 31.

    Raises
    ------
    TensorError
        Types do not fit; shift or limits are out of range; the axis is missing or has another
        extent.
    """
    return _requantised("requantise", acc, multiplier, addend, None, shift, low, high, axis, name)


def requantise_add(
    acc: Tensor,
    multiplier: Tensor,
    addend: Tensor,
    skip: Tensor,
    skip_multiplier: Tensor,
    *,
    shift: int,
    low: int,
    high: int,
    axis: int = 1,
    name: str = "requantise_add",
) -> Tensor:
    """clip((acc * multiplier + addend + skip * skip_multiplier) >> shift, low, high), exact.

    The addition of a residual block, rounded once; see `RequantSpec`.

    Parameters
    ----------
    acc, multiplier, addend, shift
        Parameters of `requantise`.
    skip
        A signed type of 16 bits or fewer, in the shape of `acc`.
    skip_multiplier
        int32; [], [1] or [C].

    Raises
    ------
    TensorError
        The errors of `requantise`.
    """
    if skip.dtype.kind is not Kind.INT or skip.dtype.bits > _NARROW or skip.shape != acc.shape:
        allowed = f"has to be int8 or int16, of the shape of {show(acc)}"
        refuse("requantise_add", name, f"{show(skip)} {allowed}")
    both = (skip, skip_multiplier)
    return _requantised(
        "requantise_add", acc, multiplier, addend, both, shift, low, high, axis, name
    )


def _requantised(
    operator: str,
    acc: Tensor,
    multiplier: Tensor,
    addend: Tensor,
    added: tuple[Tensor, Tensor] | None,
    shift: int,
    low: int,
    high: int,
    axis: int,
    name: str,
) -> Tensor:
    if acc.dtype != INT32:
        refuse(operator, name, f"{show(acc)} has to be int32")
    if not 0 <= shift <= _LARGEST_SHIFT:
        refuse(operator, name, f"shift is {shift}: it has to lie in 0..{_LARGEST_SHIFT}")
    if not INT32.low <= low <= high <= INT32.high:
        refuse(operator, name, f"limits {low}..{high} are no range within 32 bits")
    factors = _per_axis(operator, name, acc, multiplier, INT32, axis)
    addends = _per_axis(operator, name, acc, addend, INT64, axis)
    skips = None if added is None else _per_axis(operator, name, acc, added[1], INT32, axis)
    to = smallest_int(low, high)

    def element(*i: Expr) -> Expr:
        total = te.cast(acc[i], INT64) * te.cast(factors(i), INT64) + addends(i)
        if added is not None and skips is not None:
            total = total + te.cast(added[0][i], INT64) * te.cast(skips(i), INT64)
        return te.cast(te.minimum(te.maximum(total >> shift, low), high), to)

    return compute(acc.shape, element, name)


def _per_axis(
    operator: str, name: str, data: Tensor, given: Tensor, dtype: DType, axis: int
) -> Callable[[Sequence[Expr]], Expr]:
    """Maps indices of `data` to an element of `given`, a scalar or a vector along `axis`."""
    if given.dtype != dtype:
        refuse(operator, name, f"{show(given)} has to be {dtype}")
    if given.shape in ((), (1,)):
        return lambda _: given[(0,) * len(given.shape)]
    along = axis_of(operator, name, data, axis)
    if given.shape != data.shape[along : along + 1]:
        many = f"[], [1] or [{data.shape[along]}]"
        refuse(
            operator, name, f"{show(given)} has to be {dtype}{many}: axis {axis} of {show(data)}"
        )
    return lambda indices: given[indices[along]]

"""Helpers for integers that are per tensor or per channel: checks and broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tandem.compiler.errors import QuantisationError

INT16 = (-(1 << 15), (1 << 15) - 1)
INT32 = (-(1 << 31), (1 << 31) - 1)

T = TypeVar("T")

PerChannel = int | tuple[int, ...]
"""One number for the whole tensor, or one for each channel."""
Integers = int | np.integer | Sequence[int] | npt.NDArray[np.integer]
"""The types in which callers may pass `PerChannel` numbers."""


def integers(name: str, values: Integers) -> PerChannel:
    """NumPy or Python integers as Python ints: one, or a tuple with one for each channel."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim > 1:
        raise QuantisationError(f"{name} is {values!r}: an integer, or a sequence of them")
    return int(array) if array.ndim == 0 else tuple(array.tolist())


def check_range(name: str, value: PerChannel, low: int, high: int) -> None:
    """Raises `QuantisationError` for a number that is no `int`, or outside low..high."""
    for channel, number in enumerate(broadcast(value, None)):
        where = f" of channel {channel}" if isinstance(value, tuple) else ""
        if type(number) is not int:
            raise QuantisationError(f"{name} is {number!r}{where}: it has to be an int")
        if not low <= number <= high:
            raise QuantisationError(f"{name} is {number}{where}: it has to lie in {low}..{high}")


def channel_count(**numbers: object) -> int | None:
    """The common length of the tuples among `numbers`; None if all are single numbers."""
    counts = {name: len(each) for name, each in numbers.items() if isinstance(each, tuple)}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise QuantisationError(f"channels: {listed}; one count for all, and at least 1")
    return next(iter(counts.values()), None)


def broadcast(value: T | tuple[T, ...], channels: int | None) -> tuple[T, ...]:
    """A tuple with `value` for each channel; of length 1 if `channels` is None."""
    return value if isinstance(value, tuple) else (value,) * (channels or 1)


def collapse(values: Sequence[int], channels: int | None) -> PerChannel:
    """The inverse of `broadcast`: one number if `channels` is None, else a tuple."""
    return values[0] if channels is None else tuple(values)


def broadcast_along_axis(
    caller: str, value: PerChannel, shape: tuple[int, ...], axis: int | None
) -> npt.NDArray[np.int64]:
    """`value` as an array that broadcasts to `shape`, with channels along `axis`."""
    array = np.array(value, np.int64)
    if array.ndim == 0:
        return array
    if axis is None:
        raise QuantisationError(f"{caller}: channels ({array.size}), but no axis")
    if not -len(shape) <= axis < len(shape):
        raise QuantisationError(f"{caller}: axis {axis} of an array of shape {list(shape)}")
    if shape[axis] != array.size:
        raise QuantisationError(
            f"{caller}: axis {axis} of shape {list(shape)} has to have {array.size} channels"
        )
    return array.reshape((-1,) + (1,) * (len(shape) - 1 - axis % len(shape)))


def checked_int32(
    caller: str,
    values: npt.NDArray[np.signedinteger[Any]],
    limits: tuple[int, int] = INT32,
    name: str = "accumulator",
) -> npt.NDArray[np.int32]:
    """`values` as int32; raises `QuantisationError` for a number outside `limits`."""
    if not np.issubdtype(values.dtype, np.signedinteger):
        raise QuantisationError(f"{caller}: {name}s are {values.dtype}, not signed integers")
    if values.size:
        for value in (int(values.min()), int(values.max())):
            if not limits[0] <= value <= limits[1]:
                raise QuantisationError(
                    f"{caller}: {name} {value} is not in {limits[0]}..{limits[1]}"
                )
    return values.astype(np.int32)

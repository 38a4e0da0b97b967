"""Numbers of a tensor or of each of its channels, and accumulators that they are laid along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError

__all__ = [
    "INT16",
    "INT32",
    "PerChannel",
    "Whole",
    "along",
    "check_range",
    "checked_int32",
    "common_channels",
    "joined",
    "spread",
    "whole",
]

INT16 = (-(1 << 15), (1 << 15) - 1)
INT32 = (-(1 << 31), (1 << 31) - 1)

T = TypeVar("T")

# One number for the whole tensor, or one for each channel.
PerChannel = int | tuple[int, ...]
# What callers may have them in.
Whole = int | np.integer | Sequence[int] | npt.NDArray[np.integer]


def whole(name: str, values: Whole) -> PerChannel:
    """Python's own integers, whatever kind of array or number they came in."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim > 1:
        raise QuantisationError(f"{name} is {values!r}: an integer, or a sequence of them")
    return int(array) if array.ndim == 0 else tuple(array.tolist())


def check_range(name: str, value: PerChannel, low: int, high: int) -> None:
    """Each is one of Python's integers, and lies in low..high."""
    for channel, each in enumerate(spread(value, None)):
        where = f" of channel {channel}" if isinstance(value, tuple) else ""
        if type(each) is not int:
            raise QuantisationError(f"{name} is {each!r}{where}: it has to be an int")
        if not low <= each <= high:
            raise QuantisationError(f"{name} is {each}{where}: it has to lie in {low}..{high}")


def common_channels(**numbers: object) -> int | None:
    """How many channels these numbers are for; None where all are the tensor's."""
    counts = {name: len(each) for name, each in numbers.items() if isinstance(each, tuple)}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise QuantisationError(f"channels: {told}; one count for all, and at least 1")
    return next(iter(counts.values()), None)


def spread(value: T | tuple[T, ...], channels: int | None) -> tuple[T, ...]:
    """`value` for each channel; a tuple of one where the tensor has no channels."""
    return value if isinstance(value, tuple) else (value,) * (channels or 1)


def joined(values: Sequence[int], channels: int | None) -> PerChannel:
    """`spread` backwards."""
    return values[0] if channels is None else tuple(values)


def along(
    asker: str, value: PerChannel, shape: tuple[int, ...], axis: int | None
) -> npt.NDArray[np.int64]:
    """`value` in a shape that broadcasts along `axis` of an array of that shape."""
    array = np.array(value, np.int64)
    if array.ndim == 0:
        return array
    if axis is None:
        raise QuantisationError(f"{asker}: channels ({array.size}), but no axis")
    if not -len(shape) <= axis < len(shape):
        raise QuantisationError(f"{asker}: axis {axis} of an array of shape {list(shape)}")
    if shape[axis] != array.size:
        raise QuantisationError(
            f"{asker}: axis {axis} of shape {list(shape)} has to have {array.size} channels"
        )
    return array.reshape((-1,) + (1,) * (len(shape) - 1 - axis % len(shape)))


def checked_int32(
    asker: str, acc: npt.NDArray[np.signedinteger[Any]], limits: tuple[int, int] = INT32
) -> npt.NDArray[np.int32]:
    """`acc` as int32, refused where a number lies outside `limits`."""
    if not np.issubdtype(acc.dtype, np.signedinteger):
        raise QuantisationError(f"{asker}: accumulators are {acc.dtype}, not signed integers")
    if acc.size:
        for value in (int(acc.min()), int(acc.max())):
            if not limits[0] <= value <= limits[1]:
                raise QuantisationError(
                    f"{asker}: accumulator {value} is not in {limits[0]}..{limits[1]}"
                )
    return acc.astype(np.int32)

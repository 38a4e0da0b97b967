"""Numbers that are one for all, or one for each channel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.requantisation.channels import (
    PerChannel,
    broadcast,
    broadcast_along_axis,
    channel_count,
    check_range,
    checked_int32,
    collapse,
    integers,
)


def refused(message: str, call: Callable[..., object], *arguments: Any, **named: Any) -> None:
    with pytest.raises(QuantisationError, match=f"^{re.escape(message)}$"):
        call(*arguments, **named)


def test_integers() -> None:
    assert integers("shift", np.int16(3)) == 3
    assert integers("shift", [1, 2]) == (1, 2)
    assert integers("shift", np.array([7], np.uint8)) == (7,)
    assert type(integers("shift", np.int16(3))) is int
    refused("shift is 1.5: an integer, or a sequence of them", integers, "shift", 1.5)
    refused("shift is [[1]]: an integer, or a sequence of them", integers, "shift", [[1]])
    refused("shift is True: an integer, or a sequence of them", integers, "shift", True)


def test_ranges() -> None:
    for value in (-2, 3, (-2, 3)):
        check_range("shift", value, -2, 3)
    refused("shift is -3: it has to lie in -2..3", check_range, "shift", -3, -2, 3)
    refused("shift is 4: it has to lie in -2..3", check_range, "shift", 4, -2, 3)
    refused("shift is 4 of channel 1: it has to lie in -2..3", check_range, "shift", (0, 4), -2, 3)
    refused("shift is 1.0: it has to be an int", check_range, "shift", 1.0, -2, 3)
    refused("shift is True of channel 0: it has to be an int", check_range, "shift", (True,), 0, 1)


def test_counts() -> None:
    assert channel_count() is None
    assert channel_count(a=1, b=2.0) is None
    assert channel_count(a=(1, 2), b=3, c=(4, 5)) == 2
    refused(
        "channels: a 2, c 1; one count for all, and at least 1",
        channel_count,
        a=(1, 2),
        b=3,
        c=(4,),
    )
    refused("channels: a 0; one count for all, and at least 1", channel_count, a=())


def test_one_for_each_channel() -> None:
    assert broadcast(7, 3) == (7, 7, 7)
    assert broadcast(7, None) == (7,)
    both: PerChannel = (1, 2)
    assert broadcast(both, 2) == (1, 2)
    assert collapse((7,), None) == 7
    assert collapse([1, 2], 2) == (1, 2)


def test_arrays_along_an_axis() -> None:
    def shape(value: int | tuple[int, ...], axis: int | None) -> tuple[int, ...]:
        return broadcast_along_axis("call", value, (2, 3, 4), axis).shape

    assert shape(5, None) == ()
    assert [shape((1, 2), axis) for axis in (0, -3)] == [(2, 1, 1)] * 2
    assert [shape((1, 2, 3), axis) for axis in (1, -2)] == [(3, 1)] * 2
    assert [shape((1, 2, 3, 4), axis) for axis in (2, -1)] == [(4,)] * 2
    assert broadcast_along_axis("call", (1, 2), (2, 3), 0).tolist() == [[1], [2]]
    refused("call: channels (2), but no axis", shape, (1, 2), None)
    for axis in (3, -4):
        refused(f"call: axis {axis} of an array of shape [2, 3, 4]", shape, (1, 2), axis)
    refused("call: axis 1 of shape [2, 3, 4] has to have 2 channels", shape, (1, 2), 1)


def test_numbers_of_32_bits() -> None:
    low, high = -(1 << 31), (1 << 31) - 1
    found = checked_int32("call", np.array([low, 0, high]))
    assert found.dtype == np.int32
    assert found.tolist() == [low, 0, high]
    assert checked_int32("call", np.array([], np.int64)).size == 0
    assert checked_int32("call", np.array([-3, 3]), (-3, 3)).tolist() == [-3, 3]
    said = f"is not in {low}..{high}"
    refused(f"call: accumulator {high + 1} {said}", checked_int32, "call", np.array([0, high + 1]))
    refused(f"call: accumulator {low - 1} {said}", checked_int32, "call", np.array([low - 1, 0]))
    refused("call: sum 4 is not in -3..3", checked_int32, "call", np.array([4]), (-3, 3), "sum")
    wrong = np.array([1], np.uint32)
    refused("call: accumulators are uint32, not signed integers", checked_int32, "call", wrong)

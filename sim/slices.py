"""The length of a run's time slices, between which Python handles Ctrl-C and shows progress."""

from __future__ import annotations

_LONGEST = 1 << 40


def next_slice(length: int, seconds: float, aim: float) -> int:
    """The length of the next slice after one of `length` steps took `seconds`.

    Lengths double and halve until a slice takes about `aim` seconds.
    """
    if seconds < aim / 2:
        return min(2 * length, _LONGEST)
    if seconds > 2 * aim:
        return max(1, length // 2)
    return length

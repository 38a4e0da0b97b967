"""Runs cut into slices, so that Python can take Ctrl-C and show progress between two of them."""

from __future__ import annotations

__all__ = ["next_slice"]

_LONGEST = 1 << 40


def next_slice(length: int, seconds: float, aim: float) -> int:
    """The next slice's length, in whatever it is counted, after one of `length` took `seconds`.

    Lengths double and halve until a slice takes about `aim` seconds.
    """
    if seconds < aim / 2:
        return min(2 * length, _LONGEST)
    if seconds > 2 * aim:
        return max(1, length // 2)
    return length

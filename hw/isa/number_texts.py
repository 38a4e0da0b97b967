"""The text of the numbers that a machine knows, for messages."""

from __future__ import annotations

from collections.abc import Iterable


def numbers_text(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, neighbours as `first..last`: `0..4, 6`."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(f"{first}..{last}" if first < last else f"{first}" for first, last in runs)

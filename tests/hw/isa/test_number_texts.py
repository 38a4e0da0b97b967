"""Texts of numbers."""

from __future__ import annotations

import pytest

from tandem.hw.isa.number_texts import numbers_text


@pytest.mark.parametrize(
    ("numbers", "text"), [((0, 1, 2, 3, 4), "0..4"), ((6, 0, 1), "0..1, 6"), ((3,), "3"), ((), "")]
)
def test_neighbours_are_joined(numbers: tuple[int, ...], text: str) -> None:
    assert numbers_text(numbers) == text

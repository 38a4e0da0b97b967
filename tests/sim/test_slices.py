"""`sim.slices`: slices grow and shrink towards the time that they should take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.sim.slices import next_slice


@pytest.mark.parametrize(
    ("length", "seconds", "expected"),
    [(100, 0.04, 200), (100, 0.05, 100), (100, 0.2, 100), (100, 0.21, 50), (1, 9.0, 1)],
)
def test_steps(length: int, seconds: float, expected: int) -> None:
    assert next_slice(length, seconds, 0.1) == expected


@given(rate=st.integers(30, 10**15), first=st.integers(1, 10**6))
def test_any_machine_gets_there(rate: int, first: int) -> None:
    length = first
    for _ in range(64):
        length = next_slice(length, length / rate, 0.1)
    assert 0.05 <= length / rate <= 0.2 or length == 1 << 40

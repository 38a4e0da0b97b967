"""Clocks, and the time of cycles."""

from __future__ import annotations

import pytest

from tandem.workbench.clock import Clock
from tandem.workbench.errors import ClockError


@pytest.mark.parametrize("mhz", [0.0, -1.0, float("inf"), float("nan")])
def test_clocks_that_cannot_be(mhz: float) -> None:
    with pytest.raises(ClockError, match=rf"^a clock of {mhz} MHz: it must be a finite number "):
        Clock(mhz, "as given")


def test_cycles_at_a_clock() -> None:
    assert Clock(125.0, "as given").milliseconds(1_000_000) == 8.0
    assert str(Clock(125.0, "as given")) == "125 MHz, as given"
    assert str(Clock(33.333, "as given")) == "33.333 MHz, as given"

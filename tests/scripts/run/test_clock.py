"""`--clock`: numbers above 0."""

from __future__ import annotations

import pytest
import typer

from tandem.scripts.run.clock import parse_clock


def test_clocks() -> None:
    assert [parse_clock(text) for text in ("125", "0.5", " 1e2 ")] == [125.0, 0.5, 100.0]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf", "fast", "", "100MHz"])
def test_what_is_no_clock(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=f"^'{text}' is no clock in MHz: a number above 0"):
        parse_clock(text)

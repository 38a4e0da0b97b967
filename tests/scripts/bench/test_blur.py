"""The blur's benchmark runs, and compares what it measures."""

from __future__ import annotations

import pytest

from tandem.scripts.bench import blur


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blur, "ROUNDS", 1)
    monkeypatch.setattr(blur, "SIDE", 256)

    figures = list(blur.measure())

    assert [figure.unit for figure in figures] == ["ms"] * 4 + ["times"] * 2
    assert [figure.target for figure in figures] == [None] * 4 + [blur.LEAST, None]
    unscheduled, *ours = (figure.value for figure in figures[1:4])
    assert figures[4].value == pytest.approx(unscheduled / min(ours))

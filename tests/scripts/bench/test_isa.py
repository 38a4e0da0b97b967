"""The benchmark of programs runs, on legal programs of the length asked for."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.scripts.bench import isa


def test_it_reports_every_rate() -> None:
    figures = list(isa.measure(HardwareConfig(), length=2000, product=256))
    assert len({figure.name for figure in figures}) == len(figures) == 5
    assert all(figure.value > 0 for figure in figures)
    assert [figure.target is None for figure in figures] == [False, False, False, False, True]

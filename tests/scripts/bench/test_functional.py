"""The benchmark of the functional engine runs, and reports each thing once."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.scripts.bench import functional
from tandem.scripts.bench.measurements import print_measurements


def test_the_report_names_every_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(functional, "ROUNDS", 1)
    monkeypatch.setattr(functional, "SECONDS", 0.001)

    figures = list(functional.measure(HardwareConfig()))
    print_measurements(figures)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines].count("ALU") == 10
    assert len({line[:34] for line in lines}) == len(lines) == 20
    assert all(float(line[34:].split()[0]) > 0 for line in lines)
    assert [figure.target for figure in figures].count(functional.LEAST_GEMM) == 3

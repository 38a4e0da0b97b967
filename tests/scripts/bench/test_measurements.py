"""`scripts.bench.measurements`: a target that is missed is said, and fails the command."""

from __future__ import annotations

import pytest

from tandem.scripts.bench.measurements import Measurement, print_measurements


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Measurement("speed", 4, "1/s"), True),
        (Measurement("speed", 4, "1/s", 4), True),
        (Measurement("speed", 4, "1/s", 4.1), False),
        (Measurement("time", 4, "s", 4, at_most=True), True),
        (Measurement("time", 4, "s", 3.9, at_most=True), False),
    ],
)
def test_targets(figure: Measurement, met: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert figure.met is met
    assert print_measurements([figure, Measurement("other", 1, "s")]) == (0 if met else 1)
    first, second = capsys.readouterr().out.splitlines()
    assert ("MISSED" in first) is not met
    assert ("at least" in first, "at most" in first) == (
        figure.target is not None and not figure.at_most,
        figure.at_most,
    )
    assert second.split() == ["other", "1", "s"]

"""`scripts.bench.figures`: a target that is missed is said, and fails the command."""

from __future__ import annotations

import pytest

from scripts.bench.figures import Figure, print_figures


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("speed", 4, "1/s"), True),
        (Figure("speed", 4, "1/s", 4), True),
        (Figure("speed", 4, "1/s", 4.1), False),
        (Figure("time", 4, "s", 4, at_most=True), True),
        (Figure("time", 4, "s", 3.9, at_most=True), False),
    ],
)
def test_targets(figure: Figure, met: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert figure.met is met
    assert print_figures([figure, Figure("other", 1, "s")]) == (0 if met else 1)
    first, second = capsys.readouterr().out.splitlines()
    assert ("SHORT" in first) is not met
    assert ("at least" in first, "at most" in first) == (
        figure.target is not None and not figure.at_most,
        figure.at_most,
    )
    assert second.split() == ["other", "1", "s"]

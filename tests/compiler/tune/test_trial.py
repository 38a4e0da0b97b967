"""Outcomes of measurements."""

from __future__ import annotations

from math import inf

from tandem.compiler.tune.trial import Outcome, Status, Trial


def test_outcomes() -> None:
    assert Outcome.measured(3.5) == Outcome(Status.MEASURED, 3.5, "")
    assert Outcome.abandoned() == Outcome(Status.ABANDONED, inf, "")
    assert Outcome.failed("it\n  broke\t off ") == Outcome(Status.FAILED, inf, "it broke off")
    assert Trial(3, Outcome.abandoned()).row == 3
    assert [each.value for each in Status] == ["measured", "abandoned", "failed"]

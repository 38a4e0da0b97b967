"""Schedules of the learning rate."""

from __future__ import annotations

import pytest

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.schedules import Curve, Schedule


@pytest.mark.parametrize(
    ("curve", "half", "end"),
    [(Curve.CONSTANT, 1.0, 1.0), (Curve.LINEAR, 0.5, 0.0), (Curve.COSINE, 0.5, 0.0)],
)
def test_rates_rise_and_go_down(curve: Curve, half: float, end: float) -> None:
    schedule = Schedule(curve, warmup=0.2)
    assert [schedule.factor(done) for done in (0.0, 0.1, 0.2)] == [0.0, 0.5, 1.0]
    assert schedule.factor(0.6) == pytest.approx(half)
    assert schedule.factor(1.0) == pytest.approx(end)


def test_a_warmup_leaves_something() -> None:
    with pytest.raises(TrainingError, match=r"^warmup is 1.0: 0 to under 1 is allowed$"):
        Schedule(warmup=1.0)

"""Tuning of one workload: limits, the best, certificates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from tandem.compiler.errors import BoundError
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Certificate, Tuning
from tests.support.compiler.tune.tuning import candidates, measure_of, valley


def test_the_limit_is_a_multiple_of_the_best() -> None:
    limits = []

    def measure(choices: Sequence[Choice], limit: float) -> list[Outcome]:
        limits.append(limit)
        return [Outcome.measured(50 - len(limits))] * len(choices)

    for name, multiple in (("random", 8.0), ("exact", 1.0)):
        tuning = Tuning(candidates(), EXPLORERS[name](candidates(), 0))
        limits.clear()
        for _ in range(3):
            tuning.step(measure)
        assert limits == [np.inf, multiple * 49, multiple * 48]


def test_the_best_is_the_first_of_equal_trials() -> None:
    tuning = Tuning(candidates(), EXPLORERS["grid"](candidates(), 0))
    tuning.step(lambda choices, limit: [Outcome.measured(9), Outcome.measured(7)] * 4)
    best = tuning.best
    assert best is tuning.trials[1]


def test_trials_have_to_beat_what_is_outside_the_space() -> None:
    outside: Choice = {"part": 1}
    limits: list[float] = []

    def measure(choices: Sequence[Choice], limit: float) -> list[Outcome]:
        limits.append(limit)
        return [Outcome.measured(7)] * len(choices)

    for cost in (5.0, 9.0):
        tuning = Tuning(candidates(), EXPLORERS["grid"](candidates(), 0), incumbent=(outside, cost))
        assert tuning.choice == outside
        tuning.step(measure)
        measured = tuning.candidates.choice(tuning.trials[0].row)
        assert tuning.choice == (outside if cost == 5 else measured)
        assert tuning.certificate().best == min(cost, 7)
    assert limits == [8 * 5, 8 * 9]


def test_a_bound_that_is_wrong_is_no_proof() -> None:
    def wrong(choices: Choices) -> Floats:
        return valley(choices) + 1

    table = candidates(bound=wrong)
    tuning = Tuning(table, EXPLORERS["grid"](table, 0))
    with pytest.raises(BoundError, match=re.escape("'order': 'a'} costs")):
        tuning.step(measure_of())


def test_what_is_abandoned_is_no_best() -> None:
    tuning = Tuning(candidates(), EXPLORERS["grid"](candidates(), 0))
    tuning.step(lambda choices, limit: [Outcome.abandoned()] * len(choices))
    assert tuning.best is None
    assert tuning.explorer.best == np.inf


@pytest.mark.parametrize(
    ("measured", "pruned", "best", "bound", "certified"),
    [
        (4, 6, 200.0, 100.0, True),
        (4, 5, 200.0, 100.0, False),
        (1, 0, 100.5, 100.0, True),
        (1, 0, 100.6, 100.0, False),
        (10, 0, 5.0, 5.0, True),
    ],
)
def test_certificates(
    measured: int, pruned: int, best: float, bound: float, certified: bool
) -> None:
    certificate = Certificate(10, measured, pruned, best, bound)
    assert certificate.certified is certified
    assert certificate.gap == pytest.approx(best / bound - 1)


def test_the_bound_is_that_of_what_is_left() -> None:
    table = candidates(bound=lambda choices: valley(choices) - 10)
    tuning = Tuning(table, EXPLORERS["random"](table, 0))
    while tuning.step(measure_of(), 50):
        certificate = tuning.certificate()
        rest = np.delete(valley(table.choices), [trial.row for trial in tuning.trials])
        assert certificate.bound == min(certificate.best, rest.min(initial=np.inf) - 10)
        assert certificate.pruned == int((rest - 10 >= certificate.best).sum())

"""Candidates: rows and choices, numbers of settings, what costs are compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.plan.target import Target
from tandem.compiler.tune.candidates import BASE, WIDE, Candidates, references
from tandem.hw.config_files import load_config
from tests.support.compiler.tune.tuning import (
    KNOBS,
    EvenNumbers,
    FixedCosts,
    candidates,
    no_bound,
    valley,
)


def test_rows_and_choices() -> None:
    found = candidates()
    assert len(found) == 12 * 10 * 3
    assert (found.space, found.listed) == (BASE, True)
    assert found.choice(0) == {"x": 0, "y": 0, "order": "a"}
    assert found.choice(len(found) - 1) == {"x": 11, "y": 9, "order": "c"}
    assert found.row({"x": 0, "y": 1, "order": "b"}) == 4
    assert found.row({"order": "b", "y": 1, "x": 0}) == 4
    others: tuple[dict[str, int | str], ...] = (
        {"x": 0, "y": 10, "order": "a"},
        {"x": 0, "y": 0},
        {"x": 0, "y": 0, "order": "a", "z": 1},
        {"x": 0, "y": 0, "order": "d"},
    )
    for choice in others:
        assert found.row(choice) is None
    for row in (0, 17, 359):
        assert found.row(found.choice(row)) == row


def test_numbers_of_settings() -> None:
    found = candidates()
    few = replace(found, choices=found.choices.where(np.array([4, 17, 359])))
    # Among those that are there: x is 0, 0 and 11; y 1, 5 and 9; order b, c and c.
    assert few.settings.tolist() == [[0, 0, 0], [0, 1, 1], [1, 2, 1]]
    assert few.rows_by_settings == {(0, 0, 0): 0, (0, 1, 1): 1, (1, 2, 1): 2}
    assert few.settings.dtype == np.int64
    assert [len(each) for each in KNOBS.values()] == [12, 10, 3]


def test_costs_are_of_a_workload_by_a_template() -> None:
    asked: list[tuple[object, object]] = []

    class Noted(FixedCosts):
        def costs(self, template: object, workload: object, choices: Choices) -> Floats:
            asked.append((template, workload))
            return np.zeros(len(choices))

        def bounds(self, template: object, workload: object, choices: Choices) -> Floats:
            return self.costs(template, workload, choices)

        def features(self, template: object, workload: object, choices: Choices) -> Floats:
            return self.costs(template, workload, choices)[:, None]

    found = candidates()
    noted = replace(found, workload="w", target=replace(found.target, cost=Noted(valley, no_bound)))
    assert len(noted.estimates) == len(noted.bounds) == len(noted.features) == len(found)
    assert asked == [(found.template, "w")] * 3


def test_estimates_and_bounds() -> None:
    found = candidates(valley, lambda choices: np.asarray(choices["x"] - 1.0, np.float64))
    best = int(np.argmin(found.estimates))
    assert found.choice(best) == {"x": 7, "y": 3, "order": "b"}
    assert found.estimates[best] == 100
    # Where no bound is known, 1.
    assert found.bounds[0] == -1
    assert found.references[:30].tolist() == [1] * 30
    assert found.references[60] == 1
    assert found.references[90] == 2
    assert references(np.array([0.0, 0.5, 2.0])).tolist() == [1, 0.5, 2]
    assert found.features.shape[0] == len(found)


def target() -> Target[Any]:
    costs = FixedCosts(lambda choices: np.asarray(choices["x"], np.float64), no_bound)
    return replace(accelerator(load_config("tiny")), cost=costs)


def xs(found: Candidates) -> list[int]:
    return [int(each) for each in found.choices["x"]]


def test_spaces() -> None:
    both = EvenNumbers({"x": (5, 6), "z": (0, 1)})
    base = Candidates.of(target(), both, "w")
    assert (xs(base), base.space, base.workload) == ([2, 4], BASE, "w")
    wide = Candidates.of(target(), both, "w", wide=True)
    assert (xs(wide), wide.space) == ([6, 6], WIDE)
    alone = Candidates.of(target(), EvenNumbers(), "w", wide=True)
    assert (xs(alone), alone.space) == ([2, 4], BASE)
    with pytest.raises(Refusal, match="no choice for even_numbers fits"):
        Candidates.of(target(), EvenNumbers({"x": (5,)}), "w", wide=True)

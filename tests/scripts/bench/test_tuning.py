"""The benchmark of tuning: the trials that explorers need, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.recorded import Proposer
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import BATCH, Measure
from tandem.scripts.bench.tuning import LAYERS, main
from tandem.scripts.bench.tuning_searches import Needed, searches_of, unless_too_dear
from tandem.workbench.utilization.conv_layers import parse_layer
from tests.support.compiler.tune.tuning import candidates, measure_of, valley

MEASURE = measure_of()


def test_trials_needed() -> None:
    needed = Needed.of([(9.0, 7.0, 8.0, 5.0), (inf, 9.0), (5.0,), (6.0, 5.5)], 7.0)
    assert needed.trials == (2, None, 1, 1)
    assert needed.median == 1.5
    assert (needed.within(1), needed.within(2)) == (2, 3)
    assert Needed((None, None, 3)).median == inf


def test_searches_start_from_nothing_and_differ_by_seed() -> None:
    asked: list[tuple[Proposer, list[Choice]]] = []

    def measure_by(by: Proposer) -> Measure:
        def measure(choices: Sequence[Choice], limit: float) -> Sequence[Outcome]:
            asked.append((by, [*choices]))
            return MEASURE(choices, limit)

        return measure

    space = candidates()
    found = [*searches_of(space, "random", 3, 12, measure_by)]
    assert [len(costs) for costs in found] == [12] * 3
    assert len({*found}) == 3
    assert [by.seed for by, _ in asked] == [0, 0, 1, 1, 2, 2]
    # The costs are those of what was asked for, in order.
    first = [choice for by, choices in asked for choice in choices if by.seed == 0]
    assert found[0] == tuple(one.cost for one in MEASURE(first, inf))
    # The order of the estimate knows no seed, and here it is exact.
    (by_estimate,) = searches_of(space, "estimate", 3, 5, measure_by)
    assert by_estimate == tuple(sorted(by_estimate))
    assert by_estimate[0] == 100.0


def test_a_search_of_a_whole_space_ends() -> None:
    (costs,) = searches_of(candidates(), "grid", 1, 10_000, lambda by: MEASURE)
    assert len(costs) == 360


def test_a_search_ends_with_the_batch_that_is_good_enough() -> None:
    (whole,) = searches_of(candidates(), "random", 1, 360, lambda by: MEASURE)
    (costs,) = searches_of(candidates(), "random", 1, 360, lambda by: MEASURE, enough=105.0)
    assert costs == whole[: len(costs)]
    assert len(costs) < 360
    assert min(costs) <= 105.0 < min(costs[:-BATCH])


def test_what_is_certainly_too_dear_is_not_measured() -> None:
    space = candidates(bound=lambda choices: 0.9 * valley(choices))
    choices = [space.choice(row) for row in range(len(space))]
    asked: list[Choice] = []

    def measure(some: Sequence[Choice], limit: float) -> Sequence[Outcome]:
        asked.extend(some)
        return MEASURE(some, limit)

    found = [one.cost for one in unless_too_dear(measure, space, 110.0)(choices, inf)]
    costs = valley(space.choices)
    assert asked == [space.choice(int(row)) for row in np.flatnonzero(0.9 * costs <= 110)]
    assert [cost for cost in found if cost <= 110] == costs[costs <= 110].tolist()
    assert unless_too_dear(measure, space, 1.0)(choices[:2], inf) == [Outcome.abandoned()] * 2


@pytest.mark.exhaustive
def test_a_second_run_measures_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "records.jsonl"
    layers = ("--layer", "a=4,4,8,8,1,1,0", "--layer", "b=2,4,8,16,1,1,0", "--config", "small8")
    arguments = [*layers, "--seeds", "2", "--trials", "8", "--jobs", "1", "--records", str(records)]
    assert main(arguments) == 0
    first, before = capsys.readouterr().out, records.read_bytes()
    assert main(arguments) == 0
    assert capsys.readouterr().out == first
    assert records.read_bytes() == before
    rows = [line.split() for line in first.splitlines()]
    assert [row[:2] for row in rows[2:]] == [
        [layer, explorer]
        for layer in "ab"
        for explorer in ("xgboost", "random", "genetic", "estimate")
    ]


def test_the_layers_are_known() -> None:
    assert [parse_layer(name).name for name in LAYERS] == [*LAYERS]

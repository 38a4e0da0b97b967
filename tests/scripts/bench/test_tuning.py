"""The benchmark of tuning: trials needed, quality of models, and its two tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest

from compiler.te.knobs import Choice
from compiler.tune.recorded import Identity, Proposer
from compiler.tune.records import Record
from compiler.tune.trial import Outcome
from compiler.tune.tuner import Measure
from scripts.bench.tuning import LAYERS, main
from scripts.bench.tuning_model import Ranking, quality
from scripts.bench.tuning_searches import Needed, searches_of
from scripts.utilization.conv_layers import parse_layer
from tests.support.rtl import seeds
from tests.support.tuning import candidates, measure_of, valley

MEASURE = measure_of()
IDENTITY = Identity("1", "accelerator", {"name": "tiny"}, "latency=16", "conv2d", None)


def record(choice: Choice, outcome: Outcome) -> Record:
    return IDENTITY.record(choice, outcome, inf, Proposer("grid", 0))


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


def test_quality_of_an_exact_model_and_of_its_opposite() -> None:
    costs = np.array([100.0, 101.0, 110.0, 120.0, 149.0, 200.0, inf])
    exact = quality(-costs, costs)
    # All pairs of the five choices within 1.5 times the best, but the first two are alike.
    assert (exact.pairs, exact.accuracy, exact.top) == (9, 1.0, 1.0)
    # The five dearest have no score above the others': the best of them costs 110.
    opposite = quality(costs, costs)
    assert (opposite.accuracy, opposite.top) == (0.0, 1.1)
    assert quality(np.zeros(7), costs).accuracy == 0.5


def test_quality_without_pairs() -> None:
    found = quality(np.array([1.0, 2.0]), np.array([100.0, 101.0]))
    assert found.pairs == 0
    assert isnan(found.accuracy)


@pytest.mark.parametrize("seed", seeds(3))
def test_accuracy_is_that_of_all_pairs_one_by_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    costs, scores = draw.uniform(100, 200, 30), draw.integers(0, 9, 30).astype(np.float64)
    right = pairs = 0.0
    best = costs.min()
    for one in range(30):
        for other in range(30):
            if costs[other] <= 1.5 * best and costs[other] > 1.02 * costs[one]:
                pairs += 1
                right += (scores[one] > scores[other]) + 0.5 * (scores[one] == scores[other])
    found = quality(scores, costs)
    assert found.pairs == pairs
    assert found.accuracy == pytest.approx(right / pairs)


def test_rankings_of_records() -> None:
    space = candidates()
    chosen = [space.choice(row) for row in (5, 9, 200)]
    records = [
        record(chosen[0], Outcome.abandoned()),
        record(chosen[1], Outcome.measured(7)),
        record(chosen[0], Outcome.measured(9)),
        record(chosen[2], Outcome.failed("no")),
        record({"x": 99}, Outcome.measured(1)),
    ]
    ranking = Ranking.of(space, records)
    assert ranking is not None
    assert ranking.rows.tolist() == [5, 9, 200]
    assert ranking.costs.tolist() == [9, 7, inf]
    assert ranking.estimates.tolist() == (-valley(space.choices)[[5, 9, 200]]).tolist()
    assert Ranking.of(space, records[3:4]) is None


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
    assert [row[:2] for row in rows[2:10]] == [
        [layer, explorer]
        for layer in "ab"
        for explorer in ("xgboost", "random", "genetic", "estimate")
    ]
    assert [row[0] for row in rows[-2:]] == ["a", "b"]


def test_the_layers_are_known() -> None:
    assert [parse_layer(name).name for name in LAYERS] == [*LAYERS]

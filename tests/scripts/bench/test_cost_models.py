"""The benchmark of cost models: samples, accuracy, and its table."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.tune.candidates import Candidates
from tandem.scripts.bench.cost_models import LAYERS, main
from tandem.scripts.bench.tuning_model import Ranking, accuracy, sampled, top
from tandem.workbench.utilization.conv_layers import parse_layer
from tests.support.compiler.tune.tuning import candidates, valley
from tests.support.hw.rtl.rtl import seeds


def test_accuracy_of_an_exact_model_and_of_its_opposite() -> None:
    costs = np.array([100.0, 101.0, 110.0, 120.0, 149.0, 200.0, 300.0])
    exact = accuracy(-costs, costs, 100.0)
    # All pairs of the five choices within 1.5 times the best, but the first two are alike.
    assert (exact.pairs, exact.right) == (9, 1.0)
    assert accuracy(costs, costs, 100.0).right == 0.0
    assert accuracy(np.zeros(7), costs, 100.0).right == 0.5
    # What is close is so to the best of the space, not of the sample.
    assert accuracy(-costs, costs, 70.0).pairs == 0


def test_accuracy_without_pairs() -> None:
    found = accuracy(np.array([1.0, 2.0]), np.array([100.0, 101.0]), 100.0)
    assert found.pairs == 0
    assert isnan(found.right)


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
    found = accuracy(scores, costs, best)
    assert found.pairs == pairs
    assert found.right == pytest.approx(right / pairs)


def test_the_top_is_of_the_highest_scores() -> None:
    assert top(np.array([1.0, 9.0, 3.0, 9.0, 2.0, 8.0, 0.0])).tolist() == [1, 3, 5, 2, 4]


def test_samples_are_of_choices_that_can_be_close() -> None:
    space = candidates(bound=lambda choices: 0.9 * valley(choices))
    rows = sampled(space, 100.0, 1000, seed=1)
    assert rows.tolist() == np.flatnonzero(space.bounds <= 150).tolist()
    # All that are close are among them.
    assert set(np.flatnonzero(valley(space.choices) <= 150).tolist()) <= set(rows.tolist())
    few, other = (sampled(space, 100.0, 20, seed) for seed in (1, 2))
    assert len(few) == 20
    assert set(few.tolist()) <= set(rows.tolist())
    assert few.tolist() != other.tolist()


def test_a_model_of_other_workloads_scores_all_candidates() -> None:
    """They cost 1.3 times the bound where x is even, which two workloads teach of the third."""

    def scaled(scale: float) -> Candidates:
        return candidates(bound=lambda choices: scale * valley(choices))

    spaces = [scaled(scale) for scale in (1.0, 20.0, 300.0)]
    rankings = []
    for space in spaces:
        rows = np.arange(len(space))
        even = space.choices["x"] % 2 == 0
        rankings.append(Ranking(space, rows, space.bounds * np.where(even, 1.3, 1.0)))
    scores = rankings[2].learned(rankings[:2], seed=0)
    assert scores.shape == (len(spaces[2]),)
    costs = rankings[2].costs
    of_bound = accuracy(-spaces[2].bounds, costs, costs.min()).right
    assert accuracy(scores, costs, costs.min()).right > (1 + of_bound) / 2


@pytest.mark.exhaustive
def test_a_second_run_measures_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "records.jsonl"
    layers = ("--layer", "a=4,4,8,8,1,1,0", "--layer", "b=2,4,8,16,1,1,0", "--config", "small8")
    arguments = [*layers, "--choices", "12", "--jobs", "1", "--records", str(records)]
    assert main(arguments) == 0
    first, before = capsys.readouterr().out, records.read_bytes()
    assert main(arguments) == 0
    assert capsys.readouterr().out == first
    assert records.read_bytes() == before
    assert [line.split()[0] for line in first.splitlines()[-2:]] == ["a", "b"]


def test_the_layers_are_known() -> None:
    assert [parse_layer(name).name for name in LAYERS] == [*LAYERS]

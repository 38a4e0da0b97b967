"""Names of studies: what changes the points of a search changes its name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hw.memory_model import DEFAULT_MEMORY
from hw.synthesis.devices import DEVICES
from scripts.search import estimates, mutation
from scripts.search.estimates import Estimator
from scripts.search.explorer_names import Explorer
from scripts.search.measure import Task
from scripts.search.objectives import Objective
from scripts.search.proposals import Proposer
from scripts.search.results import open_results
from scripts.search.session import Search
from scripts.search.space import Limits, load_space
from scripts.search.study_name import _explorers_digest, study_name
from tests.scripts.search.test_session import CountingPool


def name(folder: Path, estimator: Estimator, seed: int = 5) -> str:
    task = Task((), DEFAULT_MEMORY, (), ())
    proposer = Proposer(load_space("small"), Explorer.NSGA2, seed, 1, estimator.allowed)
    with open_results(folder, task) as results:
        objectives = (Objective.MILLISECONDS,)
        return study_name(
            Search(task, objectives, (1.0,), proposer, estimator, CountingPool(), results)
        )


def test_what_a_name_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Limits(DEVICES["LFE5U-85F"])
    first = name(tmp_path, Estimator(part))
    assert name(tmp_path, Estimator(part)) == first
    others = [
        name(tmp_path, Estimator(part), seed=6),
        name(tmp_path, Estimator(part, mhz=50.0)),
        name(tmp_path, Estimator(Limits())),
    ]
    # Models that learned from other samples say otherwise.
    slower = SimpleNamespace(mhz=lambda config: 40.0)
    monkeypatch.setattr(estimates, "_clock_model", lambda learned: slower)
    others.append(name(tmp_path, Estimator(part)))
    assert len({first, *others}) == 5


def test_a_study_of_other_explorers_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = name(tmp_path, Estimator(Limits()))
    other = tmp_path / "mutation.py"
    other.write_text("STEPS = (-1, 1)\n")
    monkeypatch.setattr(mutation, "__file__", str(other))
    _explorers_digest.cache_clear()
    try:
        assert name(tmp_path, Estimator(Limits())) != first
    finally:
        _explorers_digest.cache_clear()

"""Names of studies: what changes the points of a search changes its name."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tandem.compiler.machines.accelerator.timed_streams import TIME_FIELDS, code_of
from tandem.compiler.search import estimates
from tandem.compiler.search import study_name as study_names
from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.proposals import Proposer
from tandem.compiler.search.results import open_results
from tandem.compiler.search.session import Search
from tandem.compiler.search.space import Limits, load_space
from tandem.compiler.search.study_name import study_name
from tandem.hw.synthesis.devices import DEVICES
from tests.compiler.search.test_session import CountingPool


def name(folder: Path, estimator: Estimator, seed: int = 5) -> str:
    proposer = Proposer(
        load_space("small"), Explorer.NSGA2, seed, 1, estimator.allowed, TIME_FIELDS
    )
    with open_results(folder, "task") as results:
        objectives = (Objective.MILLISECONDS,)
        return study_name(
            Search(None, objectives, (1.0,), proposer, estimator, CountingPool(), results, code_of),
            "digits",
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
    monkeypatch.setattr(study_names, "_explorers_digest", lambda: "of others")
    assert name(tmp_path, Estimator(Limits())) != first

"""Finished machines in a database."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from tandem.compiler.errors import SearchError
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.proposals import Finished, Proposal
from tandem.compiler.search.results import Measured
from tandem.compiler.search.space import load_space
from tandem.compiler.search.storage import Storage, Stored, alone, default_url
from tandem.compiler.search.work import LayerWork, StreamWork

SPACE = load_space("small")
OBJECTIVES = (Objective.CYCLES, Objective.AREA)
WORK = (StreamWork("digest", (LayerWork("a", 1, 2, 3, 4, 5),)),)


def stored(at: int, values: tuple[float, ...] | None) -> Stored:
    indices = tuple(at % len(dimension.values) for dimension in SPACE.dimensions)
    measured = Measured((7,), WORK) if values else Measured((), (), "too small")
    return Stored(Finished(Proposal(indices, at), values), measured)


def opened(folder: Path) -> Storage:
    return Storage.open(default_url(folder), "study", SPACE, OBJECTIVES)


def test_what_is_added_is_there_again(tmp_path: Path) -> None:
    machines = {(0, 1): stored(0, (3.0, 4.0)), (2, 0): stored(1, None)}
    storage = opened(tmp_path)
    for place, machine in machines.items():
        storage.add(place, machine)
    assert opened(tmp_path).stored() == machines


def test_optuna_reads_it(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    storage.add((0, 0), stored(1, (3.0, 4.0)))
    storage.add((0, 1), stored(2, (2.0, 5.0)))
    storage.add((0, 2), stored(0, (4.0, 5.0)))
    storage.add((0, 3), stored(3, None))
    study = optuna.load_study(study_name="study", storage=default_url(tmp_path))
    assert study.metric_names == ["cycles", "area"]
    assert [trial.values for trial in study.best_trials] == [[3.0, 4.0], [2.0, 5.0]]
    assert [trial.state for trial in study.trials].count(TrialState.FAIL) == 1
    assert study.trials[0].params["longest_burst"] == 1


@pytest.mark.parametrize("url", ["nonsense", "sqlite:////none/such/folder/x.db", "other://a/b"])
def test_databases_that_cannot_be_used(url: str) -> None:
    with pytest.raises(SearchError, match="storage"):
        Storage.open(url, "study", SPACE, OBJECTIVES)


def test_other_objectives(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(SearchError, match="objectives"):
        Storage.open(default_url(tmp_path), "study", SPACE, OBJECTIVES[:1])


def test_two_processes_at_one_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    monkeypatch.chdir(tmp_path)
    with (
        alone(tmp_path, url, "a search"),
        alone(tmp_path, url, "another"),
        alone(tmp_path, "sqlite:///other.db", "a search"),
        alone(tmp_path, "postgresql://host/mine", "a search"),
    ):
        for same in (url, "sqlite:///mine.db", "sqlite:///../" + tmp_path.name + "/mine.db"):
            with pytest.raises(SearchError, match="at this search already"):
                with alone(tmp_path, same, "a search"):
                    pass
    with alone(tmp_path, url, "a search"):
        pass

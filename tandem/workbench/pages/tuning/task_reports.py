"""What a run and its records say of a task, for its page."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.plain import to_plain
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import DEFAULT
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tuner import settings_text
from tandem.workbench.pages.tuning.page import Point, Search, TaskReport
from tandem.workbench.workload_text import workload_text


def task_report(
    done: TaskTuning, records: Sequence[Record], explorer: str, seed: int
) -> TaskReport:
    """The report of a task.

    Parameters
    ----------
    records
        Those of this task on this machine, of every explorer.
    explorer, seed
        Of this run, whose trials are complete; another search may lack those that were known when
        it would have measured them.
    """
    task, certificate, choice = done.task, done.certificate, done.tuning.choice
    return TaskReport(
        name=task.name,
        count=task.count,
        workload=workload_text(task.template.name, to_plain(task.workload)),
        trials=len(done.tuning.trials),
        default=done.default.cost,
        best=certificate.best,
        bound=certificate.bound,
        certified=certificate.certified,
        size=certificate.size,
        measured=certificate.measured,
        pruned=certificate.pruned,
        choice="" if choice is None else settings_text(choice),
        searches=_searches(done, records, explorer, seed),
        points=_points(done, records),
    )


def _searches(
    done: TaskTuning, records: Sequence[Record], explorer: str, seed: int
) -> tuple[Search, ...]:
    own = tuple(trial.outcome.cost for trial in done.tuning.trials)
    costs: dict[tuple[str, int], tuple[float, ...]] = {(explorer, seed): own}
    for record in records:
        by = record.explorer, record.seed
        if record.explorer != DEFAULT and by != (explorer, seed):
            costs[by] = (*costs.get(by, (done.default.cost,)), record.outcome.cost)
    names = [name for name, _ in costs]
    return tuple(
        Search(name if names.count(name) == 1 else f"{name}, seed {of}", found)
        for (name, of), found in costs.items()
    )


def _points(done: TaskTuning, records: Sequence[Record]) -> tuple[Point, ...]:
    """All measured choices of the space, this run's and the records', each once."""
    candidates = _candidates(done)
    return tuple(
        Point(float(candidates.estimates[row]), cost, settings_text(candidates.choice(row)))
        for row, cost in _costs(done, records).items()
    )


def measured(done: TaskTuning, records: Sequence[Record]) -> Measured:
    """The same choices, as a learned model is trained on them."""
    candidates, costs = _candidates(done), _costs(done, records)
    rows = np.array([*costs], np.int64)
    known = np.array([*costs.values()])
    return Measured(candidates.features[rows], known, candidates.references[rows])


def _candidates(done: TaskTuning) -> Candidates:
    candidates = done.tuning.candidates
    assert isinstance(candidates, Candidates), "pages are of accelerators, whose choices are listed"
    return candidates


def _costs(done: TaskTuning, records: Sequence[Record]) -> dict[int, float]:
    """The finite costs, by row."""
    costs = {trial.row: trial.outcome.cost for trial in done.tuning.trials}
    for record in records:
        row = _candidates(done).row(record.choice)
        if row is not None and isfinite(record.outcome.cost):
            costs[row] = record.outcome.cost
    return {row: cost for row, cost in costs.items() if isfinite(cost)}
